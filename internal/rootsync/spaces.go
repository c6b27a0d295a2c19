// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/trigger"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// spaces writes down who claims a namespace, and tells the RootSyncs that have to do with
// it when something about it changes.
type spaces struct {
	// client reads Namespaces from the cache, and writes.
	client   client.Client
	registry *namespaces.Registry
	clock    clock.PassiveClock
	// claims says whether they are turned on.
	claims func() bool
	// scope is that of the configuration.
	scope func() scope.Scope
	// rights are those in a namespace that exists, or does not.
	rights func(name string, exists bool) namespaces.Rights
	// changed tells that a RootSync has to look at a namespace again. It does not block.
	changed func(object.Sync, string)
	// protection tells that what keeps a namespace from being deleted has changed. It does
	// not block.
	protection func(string)
	// scoped tells that a namespace has come into the scope, or left it. It does not block.
	scoped func(string)
	// home is told of the namespace of RootSyncs when it comes, and when there is another answer whether RootSyncs may be
	// synced: was is the last one. It does not block.
	home func(live *metav1.PartialObjectMetadata, was, is error)
	// protected is what protection tells of, as it was the last time, and outside the
	// namespaces that were out of scope then. Only Reconcile has them, of which one runs at a
	// time.
	protected map[string]string
	outside   sets.Set[string]
	// at is the UID of the namespace of RootSyncs, and away its last answer.
	at   types.UID
	away error

	trigger trigger.Trigger
}

// asleep is how long a namespace whose claims cannot be read is left alone: it is looked
// at when it changes.
const asleep = 10 * time.Minute

func (s *spaces) setupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("rootsync-namespaces").
		For(namespaceMetadata()).
		WatchesRawSource(s.trigger.Source()).
		Complete(s)
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

// Reconcile writes the claims on a namespace, if they are not as they should be.
func (s *spaces) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	live, err := s.live(ctx, req.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	s.protects(live, req.Name)
	if req.Name == object.SyncNamespace {
		s.homes(live)
	}
	in := s.bounds(live, req.Name)
	stakes := s.registry.Stakes(req.Name)
	defer s.tell(live, stakes, req.Name)
	if live == nil || !in || !s.claims() || !s.registry.Complete() || s.away != nil {
		return reconcile.Result{}, nil
	}
	ruling, err := namespaces.Judge(live, stakes, s.rights(req.Name, true), s.clock.Now())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Nobody acts on a namespace")
		return reconcile.Result{RequeueAfter: asleep}, nil
	}
	if ruling.Write == nil || live.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, s.write(ctx, req.Name, ruling.Write)
}

func (s *spaces) write(ctx context.Context, name string, claims *ownership.Write) error {
	body, err := claims.MergePatch()
	if err != nil {
		return err
	}
	err = s.client.Patch(ctx, named(name), client.RawPatch(types.MergePatchType, body), client.FieldOwner(ownership.FieldManager))
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return nil // it has changed, or is another one: the watch tells
	}
	if err != nil {
		return fmt.Errorf("write the claims on namespace %s: %w", name, err)
	}
	return nil
}

// homes takes in what has become of the namespace of RootSyncs.
func (s *spaces) homes(live *metav1.PartialObjectMetadata) {
	if live == nil {
		s.at = ""
		return
	}
	was, is, at := s.away, namespaces.Home(live), s.at
	s.away, s.at = is, live.UID
	if at != live.UID || (was == nil) != (is == nil) || was != nil && was.Error() != is.Error() {
		s.home(live, was, is)
	}
}

// protecting are the labels that keep a namespace from being deleted.
var protecting = []string{
	v1alpha1.DeletionProtectedLabel, v1alpha1.KarmadaDeletionProtectedLabel, v1alpha1.KruiseDeletionProtectionLabel,
	v1alpha1.ProtectedByMark, v1alpha1.ProtectedWhileUsedByMark, v1alpha1.HoldsProtectedMark, v1alpha1.MarkedLabel,
}

// protects tells whether what keeps a namespace from being deleted is not what it was.
func (s *spaces) protects(live *metav1.PartialObjectMetadata, name string) {
	var now strings.Builder
	if live != nil {
		for _, key := range protecting {
			now.WriteString(live.Labels[key] + ",")
		}
	}
	was, known := s.protected[name]
	if live == nil {
		delete(s.protected, name)
	} else {
		s.protected[name] = now.String()
	}
	if known && was != now.String() {
		s.protection(name)
	}
}

// bounds says whether a namespace is in scope, and tells if that has changed.
func (s *spaces) bounds(live *metav1.PartialObjectMetadata, name string) bool {
	in := live == nil || s.scope().Matches(name, live.Labels)
	if in == s.outside.Has(name) {
		s.scoped(name)
	}
	if in {
		s.outside.Delete(name)
	} else {
		s.outside.Insert(name)
	}
	return in
}

// inScope says whether the configuration lets RootSyncs write an object.
func (s *spaces) inScope(id object.ID, labels map[string]string) bool {
	name := namespaces.Around(id)
	if name == "" {
		return true
	}
	live, err := s.live(context.Background(), name)
	if err != nil {
		return false
	}
	if live == nil {
		return namespaces.InScope(s.scope(), id, nil, labels)
	}
	return namespaces.InScope(s.scope(), id, live, labels)
}

// tell wakes whoever has to do with a namespace.
func (s *spaces) tell(live *metav1.PartialObjectMetadata, stakes namespaces.Stakes, name string) {
	for sync, stake := range stakes {
		if stake.How != namespaces.Silent {
			s.changed(sync, name)
		}
	}
	if live == nil {
		return
	}
	if sync, ok := object.SyncOf(object.Managed(live, object.NamespaceID(name))); ok {
		if _, told := stakes[sync]; !told {
			s.changed(sync, name)
		}
	}
}

// ask has namespaces looked at again.
func (s *spaces) ask(names []string) {
	for _, name := range names {
		s.trigger.Ask(name, 0)
	}
}

// askAll has all namespaces looked at again.
func (s *spaces) askAll(ctx context.Context) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := s.client.List(ctx, list); err != nil {
		ctrl.Log.Error(err, "Namespaces cannot be listed") // from a cache
		return
	}
	for i := range list.Items {
		s.trigger.Ask(list.Items[i].Name, 0)
	}
}

// ruling says whose a namespace is now.
func (s *spaces) ruling(ctx context.Context, name string) (namespaces.Ruling, error) {
	live, err := s.live(ctx, name)
	if err != nil {
		return namespaces.Ruling{}, err
	}
	var o metav1.Object
	if live != nil {
		o = live
	}
	stakes := s.registry.Stakes(name)
	if !s.claims() {
		return namespaces.Alone(o, stakes), nil
	}
	return namespaces.Judge(o, stakes, s.rights(name, live != nil), s.clock.Now())
}

// below reports whether an object would be in a namespace that is below another one in a tree, or below any if that is empty:
// only there does a hierarchy create copies. It reads the tree labels, which Holdfast alone writes.
func (s *spaces) below(id object.ID, above string) bool {
	if id.Namespace == "" {
		return false
	}
	live, err := s.live(context.Background(), id.Namespace)
	if err != nil || live == nil {
		return err != nil
	}
	return namespaces.Below(live, above)
}

// live is a Namespace as the cache has it; nil if it has none.
func (s *spaces) live(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	o := namespaceMetadata()
	err := s.client.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return o, nil
}

func named(name string) *metav1.PartialObjectMetadata {
	o := namespaceMetadata()
	o.SetName(name)
	return o
}
