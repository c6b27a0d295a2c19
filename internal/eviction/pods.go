// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// pod is what is known of a pod.
type pod struct {
	meta metav1.ObjectMeta
	// whole is nil when only the metadata is known.
	whole *corev1.Pod
}

// pods reads and patches pods.
type pods struct {
	client kubernetes.Interface
	// cached returns the metadata of a pod that is watched.
	cached func(namespace, name string) (*metav1.ObjectMeta, bool)
	clock  clock.PassiveClock
	pauses timing.Pauses

	mu        sync.Mutex
	forbidden map[string]time.Time // until when, by namespace
}

// get returns the pod that an eviction is about, from the cache if it can be there
// and need not be fresh. What the cache has is old if the eviction names another
// UID; and a pod that it does not have can be new.
func (p *pods) get(ctx context.Context, s settings, req policy.Request, fresh bool) (pod, error) {
	if !fresh {
		meta, ok := p.cached(req.Namespace, req.Name)
		// One that is terminating may have gone, and another have its name.
		if ok && meta.DeletionTimestamp == nil && (req.UID == "" || req.UID == meta.UID) {
			return pod{meta: *meta}, nil
		}
	}
	return p.read(ctx, s, req)
}

// read asks the API server for a pod.
func (p *pods) read(ctx context.Context, s settings, req policy.Request) (pod, error) {
	if err := p.allowed(req.Namespace); err != nil {
		return pod{}, err
	}
	ctx, cancel := within(ctx, s)
	defer cancel()
	got, err := p.client.CoreV1().Pods(req.Namespace).Get(ctx, req.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return pod{}, errGone
	}
	if err != nil {
		p.learn(req.Namespace, "get", err)
		return pod{}, fmt.Errorf("get pod: %w", err)
	}
	return pod{meta: got.ObjectMeta, whole: got}, nil
}

// patch writes to a pod, and to no other that has its name by now.
func (p *pods) patch(ctx context.Context, s settings, o *metav1.ObjectMeta, with *policy.Patch) error {
	if err := p.allowed(o.Namespace); err != nil {
		return err
	}
	metadata := map[string]any{"uid": o.UID}
	if len(with.Annotations) > 0 {
		metadata["annotations"] = with.Annotations
	}
	if len(with.Labels) > 0 {
		metadata["labels"] = with.Labels
	}
	text, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	ctx, cancel := within(ctx, s)
	defer cancel()
	_, err = p.client.CoreV1().Pods(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, text,
		metav1.PatchOptions{FieldManager: v1alpha1.EvictionFieldManager})
	patches.WithLabelValues(result(err)).Inc()
	if err != nil {
		p.learn(o.Namespace, "patch", err)
		return fmt.Errorf("patch pod: %w", err)
	}
	return nil
}

// within bounds one question to the API server.
func within(ctx context.Context, s settings) (context.Context, context.CancelFunc) {
	if d := s.config.RequestTimeout.Duration; d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return ctx, func() {}
}

// allowed fails while Holdfast has no right to the pods of a namespace.
func (p *pods) allowed(namespace string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.forbidden[namespace]
	switch {
	case !ok:
		return nil
	case p.clock.Now().After(until):
		delete(p.forbidden, namespace)
		return nil
	}
	return fmt.Errorf("pods in namespace %s are beyond the rights of Holdfast, which asks again in %s", namespace, until.Sub(p.clock.Now()).Round(time.Second))
}

// learn remembers where Holdfast has no rights. Admission forbids as well, but one
// pod and not the namespace; the words of the authorizer tell them apart.
func (p *pods) learn(namespace, verb string, err error) {
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot "+verb+" resource") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forbidden == nil {
		p.forbidden = map[string]time.Time{}
	}
	now := p.clock.Now()
	maps.DeleteFunc(p.forbidden, func(_ string, until time.Time) bool { return now.After(until) }) // nobody may ask for them again
	p.forbidden[namespace] = now.Add(p.pauses.ForbiddenPods)
}

// withoutRights lists the namespaces that are left alone now.
func (p *pods) withoutRights() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for ns, until := range p.forbidden {
		if !p.clock.Now().After(until) {
			out = append(out, ns)
		}
	}
	return out
}
