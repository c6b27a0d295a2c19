// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
)

// Home returns why nothing is synced, by the cache: the namespace of RootSyncs is below another one.
func (s *Syncer) Home(ctx context.Context) error {
	live, err := s.spaces.live(ctx, object.SyncNamespace)
	if err != nil || live == nil {
		return err
	}
	return namespaces.Home(live)
}

// homeNow is Home by the API server: another namespace of that name may have been made a moment ago.
func (s *Syncer) homeNow(ctx context.Context) error {
	o := named(object.SyncNamespace)
	if err := s.o.Manager.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return fmt.Errorf("read namespace %s: %w", object.SyncNamespace, err)
	}
	return namespaces.Home(o)
}

// away ends what is synced while the namespace of RootSyncs is below another one. Everything stays as it is, also if the
// RootSync is deleted: it goes at once, or the namespace that has to go could not.
func (r *runner) away(ctx context.Context, rs *configsyncv1beta1.RootSync, why *namespaces.InTreeError, facts *report.Facts) error {
	facts.Stalled = &report.Stalled{Reason: configsyncv1beta1.ReasonNamespaceInTree, Err: knv.New(knv.InvalidSync, "%v", why).Because(why)}
	r.stop()
	r.unsubscribe()
	if rs.DeletionTimestamp != nil {
		return r.release(ctx, rs)
	}
	return r.undecided(ctx, rs)
}

// homeChanged wakes all RootSyncs after the namespace of RootSyncs was created, or got into a tree or out of it.
func (s *Syncer) homeChanged(live *metav1.PartialObjectMetadata, was, is error) {
	if is != nil {
		ctrl.Log.Error(is, "Nothing is synced")
		s.events.Eventf(live, nil, corev1.EventTypeWarning, "InTree", "Sync", "%s", is.Error())
	} else if was != nil {
		ctrl.Log.Info("The namespace of RootSyncs is in no tree any more: they are synced again")
		s.events.Eventf(live, nil, corev1.EventTypeNormal, "InNoTree", "Sync", "RootSyncs are synced again")
		s.spaces.askAll(context.Background())
	}
	s.wakeAll()
}

// arrived reports whether the namespace of RootSyncs is known to exist. Its watch may be later than that of RootSyncs.
func (s *Syncer) arrived(ctx context.Context) bool {
	live, err := s.spaces.live(ctx, object.SyncNamespace)
	return err == nil && live != nil
}
