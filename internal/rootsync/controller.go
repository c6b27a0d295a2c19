// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// setupController hands each RootSync to its runner.
func (s *Syncer) setupController(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("rootsync").
		For(&configsyncv1beta1.RootSync{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(s.usersOf)).
		Complete(reconcile.Func(s.reconcile))
}

// usersOf are the RootSyncs that a Secret may be for: all, since they only look again.
func (s *Syncer) usersOf(context.Context, client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, r := range s.all() {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: object.SyncNamespace, Name: string(r.sync)}})
	}
	return out
}

func (s *Syncer) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	select {
	case <-s.started:
	case <-ctx.Done():
		return reconcile.Result{}, nil
	}
	rs := &configsyncv1beta1.RootSync{}
	err := s.client.Get(ctx, req.NamespacedName, rs)
	switch {
	case apierrors.IsNotFound(err):
		if req.Namespace != object.SyncNamespace {
			return reconcile.Result{}, nil
		}
		s.stop(object.Sync(req.Name))
		return reconcile.Result{}, s.identities.Forget(ctx, object.Sync(req.Name))
	case err != nil:
		return reconcile.Result{}, err
	case req.Namespace != object.SyncNamespace:
		s.misplaced(ctx, rs)
		return reconcile.Result{}, nil
	}
	s.start(rs)
	return reconcile.Result{}, nil
}

// start hands a RootSync to its runner, which is made if there is none.
func (s *Syncer) start(rs *configsyncv1beta1.RootSync) {
	name := object.Sync(rs.Name)
	if r := s.runner(name); r != nil && r.uid != rs.UID {
		s.stop(name) // another one of the same name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runners[name]
	if r == nil {
		r = newRunner(s, rs)
		s.runners[name] = r
		ctx, cancel := context.WithCancel(ctrl.LoggerInto(s.base, ctrl.Log.WithValues("rootsync", name)))
		r.cancel = cancel
		s.running.Go(func() { r.run(ctx) })
	}
	r.tell(rs)
}

// stop ends the runner of a RootSync that is gone, and forgets what it wanted.
func (s *Syncer) stop(name object.Sync) {
	s.mu.Lock()
	r := s.runners[name]
	delete(s.runners, name)
	s.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.ended
	}
	s.forget(name)
	s.rights.Forget(name)
	s.unused(s.declarers.keep(name, nil))
	_ = s.hub.Follow(s.base, name, nil) // to watch less cannot fail
}

func (s *Syncer) forget(name object.Sync) {
	s.declares(name, s.o.Clock.Now(), nil)
	s.stakesChanged(s.registry.Forget(name))
}

// declares takes in what a RootSync declares now. Others look again at objects that they
// declare too, and at definitions of kinds that it has no objects of any more.
func (s *Syncer) declares(name object.Sync, since time.Time, ids sets.Set[object.ID]) {
	former := s.declarers.kinds(name)
	s.tell(s.declarers.set(name, since, ids))
	s.unused(former.Difference(s.declarers.kinds(name)))
}

// unused has the definitions of kinds looked at again that a RootSync has nothing of any more.
func (s *Syncer) unused(no sets.Set[schema.GroupKind]) {
	kinds := s.o.Kinds.Current()
	if kinds == nil {
		return
	}
	for gk := range no {
		if kind, served := kinds.ByKind(gk); served && gk.Group != "" {
			s.observed(plan.CRD(kind.Resource.GroupResource()))
		}
	}
}

// tell has other RootSyncs look again at objects that they declare too.
func (s *Syncer) tell(others map[object.Sync][]object.ID) {
	for name, ids := range others {
		if r := s.runner(name); r != nil {
			for _, id := range ids {
				r.observe(id)
			}
		}
	}
}

// refuses says what of a RootSync the configuration forbids.
func (s *Syncer) refuses(settings spec.Settings) *knv.Error {
	if !s.o.config().RequireRoleRefs || len(settings.Roles) > 0 {
		return nil
	}
	return knv.New(knv.InvalidSync, "RootSyncs must name their roles in spec.override.roleRefs here: without any it would be cluster-admin, which the configuration of Holdfast forbids by rootSync.requireRoleRefs")
}
