// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// reactionBound is DESIGN's, in seconds: what somebody changes is put back, and what waits for
// a namespace is applied.
const reactionBound = 1

// reactions are to what happens in the cluster, without a commit.
func (s *syncSubject) reactions(ctx context.Context, b *bench) ([]row, error) {
	var back, applied []float64
	for round := range b.changes {
		took, err := s.putBack(ctx, fmt.Sprintf("changed-by-hand-%d", round))
		if err != nil {
			return nil, fmt.Errorf("a change is put back: %w", err)
		}
		back = append(back, took.Seconds())
		if took, err = s.waits(ctx, fmt.Sprintf("waits-%d", round)); err != nil {
			return nil, fmt.Errorf("what waits for a namespace is applied: %w", err)
		}
		applied = append(applied, took.Seconds())
	}
	return []row{
		{work: "somebody changes 1 of " + number(b.synced) + " objects: until it is put back", measured: median(back), unit: "s", limit: new(float64(reactionBound))},
		{work: "strategy explicit: from a namespace until the object that waited for it", measured: median(applied), unit: "s", limit: new(float64(reactionBound))},
	}, nil
}

// putBack changes an object, and waits until it is as it was.
func (s *syncSubject) putBack(ctx context.Context, value string) (time.Duration, error) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "sync-0-1", Name: "cm-1"}}
	body := fmt.Sprintf(`{"data":{"value":%q}}`, value)
	if err := s.Client.Patch(ctx, cm, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner("somebody")); err != nil {
		return 0, err
	}
	begin := time.Now()
	err := await(ctx, "the object is as it was", time.Millisecond, func(ctx context.Context) (bool, error) {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(cm), cm)
		return err == nil && cm.Data["value"] != value, err
	})
	return time.Since(begin), err
}

// waits has a RootSync wait for a namespace, and makes it.
func (s *syncSubject) waits(ctx context.Context, name string) (time.Duration, error) {
	files, err := filesOf(".", []object.Declared{configMapOf(name, "cm", "1")})
	if err != nil {
		return 0, err
	}
	if _, err := s.commit(name, files); err != nil {
		return 0, err
	}
	rs := &configsyncv1beta1.RootSync{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: name}}
	rs.Spec.SourceFormat = configsyncv1beta1.FormatUnstructured
	rs.Spec.Git = &configsyncv1beta1.Git{Repo: s.git.URL() + "/" + name + ".git", Branch: "main", Auth: configsyncv1beta1.AuthNone, Period: never}
	rs.Spec.Override = &configsyncv1beta1.Override{NamespaceStrategy: configsyncv1beta1.NamespacesExplicit}
	if err := s.Client.Create(ctx, rs); err != nil {
		return 0, err
	}
	if err := await(ctx, "the RootSync says that it waits", 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(rs), rs)
		return err == nil && rs.Status.Sync.ErrorSummary != nil && rs.Status.Sync.ErrorSummary.TotalCount > 0, err
	}); err != nil {
		return 0, err
	}
	if err := s.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return 0, err
	}
	begin := time.Now()
	err = await(ctx, "the object is there", time.Millisecond, func(ctx context.Context) (bool, error) {
		err := s.Client.Get(ctx, client.ObjectKey{Namespace: name, Name: "cm"}, &corev1.ConfigMap{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	return time.Since(begin), err
}
