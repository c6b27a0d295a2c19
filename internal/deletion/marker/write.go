// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/uid"
)

// work takes one object off the queue; false ends the worker.
func (m *Marker) work(ctx context.Context) bool {
	t, shutdown := m.queue.Get()
	if shutdown {
		return false
	}
	defer m.queue.Done(t)
	p, ok := m.plan(t)
	if !ok {
		m.queue.Forget(t)
		return true
	}
	if err := m.write(ctx, t, p); err != nil {
		ctrl.Log.WithName("marks").Info("Cannot mark an object; it is tried again", "resource", t.resource.String(),
			"namespace", t.namespace, "name", t.name, "error", err.Error())
		m.queue.AddRateLimited(t)
		return true
	}
	m.queue.Forget(t)
	return true
}

// plan is what to write on an object.
type plan struct {
	kind   inventory.Kind
	object *metav1.PartialObjectMetadata
	want   marks.Set
	// ends says that an override ends with it.
	ends bool
}

// plan says what has to be written on an object now; not ok when nothing has.
func (m *Marker) plan(t target) (p plan, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kinds == nil {
		m.queue.AddAfter(t, calm)
		return plan{}, false
	}
	kind, ok := m.kinds.ByResource(t.resource)
	if !ok {
		return plan{}, false
	}
	o, ok := m.writable(t, kind)
	if !ok {
		return plan{}, false
	}
	k := m.known[o.UID]
	have, want := m.carried(o, k), m.wanted(kind, o, k)
	m.holdOn(t, kind, o, have, want)
	if len(want) == 0 && labelsCopied(kind, o) || want.Equal(have) && !m.strayDue(t, o, k) {
		return plan{}, false
	}
	if wait := m.pause(t, have, want); wait > 0 {
		m.queue.AddAfter(t, wait)
		return plan{}, false
	}
	m.last[t] = written{m.o.Clock.Now(), want}
	_, had := have[v1alpha1.OverrideMark]
	_, has := want[v1alpha1.OverrideMark]
	return plan{kind: kind, object: o, want: want, ends: had && !has}, true
}

// holdOn keeps the mark of an owner while what is below it has not been seen.
func (m *Marker) holdOn(t target, kind inventory.Kind, o *metav1.PartialObjectMetadata, have, want marks.Set) {
	before, held := have[v1alpha1.HoldsProtectedMark]
	if !held {
		return
	}
	if seen, soon := m.seenBelow(kind, o); !seen {
		want[v1alpha1.HoldsProtectedMark] = before
		if soon {
			m.queue.AddAfter(t, calm)
		}
	}
}

// strayDue reports whether it is time to remove marks that are not bound to the object, and requeues the object while
// it is not. Marks that were removed before and are there again stay: the operator that copies them would copy them
// each time.
func (m *Marker) strayDue(t target, o *metav1.PartialObjectMetadata, k *known) bool {
	if k == nil || !marks.Stray(o) {
		return false
	}
	if _, removed := m.cleaned.Get(o.UID); removed {
		return false
	}
	if wait := m.o.Pauses.StrayMarks - m.o.Clock.Since(k.straySince); wait > 0 {
		m.queue.AddAfter(t, wait)
		return false
	}
	return true
}

// pause is how long a write waits: the text of a mark can, and so can what
// somebody else has just undone.
func (m *Marker) pause(t target, have, want marks.Set) time.Duration {
	last := m.last[t]
	if want.SameVerdict(have) || want.SameVerdict(last.want) {
		return calm - m.o.Clock.Since(last.at)
	}
	return 0
}

// writable is the object of a target, if there is one to write to now.
func (m *Marker) writable(t target, kind inventory.Kind) (o *metav1.PartialObjectMetadata, ok bool) {
	o, found := m.object(t, kind)
	switch {
	case o.DeletionTimestamp != nil, o.UID == "": // nothing binds a mark without a UID
		return nil, false
	case m.known[o.UID] == nil && !m.seenAll(t.resource):
		// What it carries or should carry is not known yet, and a write gives it
		// exactly that.
		m.queue.AddAfter(t, calm)
		return nil, false
	case !found && m.sources[inventory.Source{Resource: kind.Resource}] != nil:
		return nil, false // it is gone
	}
	return o, true
}

// carried are the marks that an object carries, as far as is known.
func (m *Marker) carried(o *metav1.PartialObjectMetadata, k *known) marks.Set {
	if r, ok := m.recent[o.UID]; ok && k == nil {
		return r
	}
	return marks.Of(o)
}

// copied says whether controllers give the objects of a kind all labels of their
// Service, marks included. These go when the Service's do; to take them off sooner
// would be undone.
func copied(kind inventory.Kind) bool {
	switch kind.GroupResource() {
	case schema.GroupResource{Resource: "endpoints"}, schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}:
		return true
	}
	return false
}

// labelsCopied reports whether a controller copies an object's labels to it from a Service.
func labelsCopied(kind inventory.Kind, o *metav1.PartialObjectMetadata) bool {
	return copied(kind) && policy.LeftToControllers(kind.GroupResource(), o)
}

// seenAll says whether every object of a kind that counts has been seen.
func (m *Marker) seenAll(r schema.GroupResource) bool {
	for s, src := range m.sources {
		if s.Resource.GroupResource() == r && !src.synced {
			return false
		}
	}
	return true
}

// object is the latest state of a target that is known; for one that was not
// found, what identifies it.
func (m *Marker) object(t target, kind inventory.Kind) (o *metav1.PartialObjectMetadata, found bool) {
	if k := m.known[t.uid]; k != nil && k.kind.GroupResource() == t.resource && k.meta.Namespace == t.namespace && k.meta.Name == t.name {
		return k.meta, true
	}
	if o := m.watches.Object(inventory.Source{Resource: kind.Resource}, t.namespace, t.name); o != nil && (t.uid == "" || t.uid == o.UID) {
		if k := m.known[o.UID]; k != nil {
			return k.meta, true
		}
		return o, true
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: t.name, Namespace: t.namespace, UID: t.uid}}, false
}

// wanted are the marks that an object should carry.
func (m *Marker) wanted(kind inventory.Kind, o *metav1.PartialObjectMetadata, k *known) marks.Set {
	set := marks.Set{}
	if kind.GroupResource() == policy.ClusterRoles && o.Name == v1alpha1.AnchorName {
		return set // it can always be deleted, so its marks would be wrong
	}
	if k != nil {
		for mark, mode := range map[string]v1alpha1.ProtectionMode{
			v1alpha1.ProtectedByMark:          v1alpha1.ModeAlways,
			v1alpha1.ProtectedWhileUsedByMark: v1alpha1.ModeCascading,
		} {
			if by := withMode(k.protections, mode); len(by) > 0 {
				set[mark] = marks.Mark{
					Value: selection.Value(by), Detail: marks.Detail(selection.Detail(by)),
					Labels: selection.LabelKeys(by, kind.GroupKind(), o, m.namespaceLabels[o.Namespace]),
				}
			}
		}
		if m.usedByTraffic(k) {
			set[v1alpha1.InUseMark] = marks.Mark{Value: v1alpha1.MarkSet}
		}
	}
	if h := m.holding(kind, o); h.Count > 0 && m.inScope(kind, o) {
		set[v1alpha1.HoldsProtectedMark] = marks.Mark{Value: v1alpha1.MarkSet, Detail: marks.Detail(h.Describe(placeOf(kind, o)))}
	}
	if in, ok := m.overrides[o.UID]; ok {
		by := in.stamp
		set[v1alpha1.OverrideMark] = marks.Mark{Value: by.Override}
		if by.Contents {
			set[v1alpha1.OverrideContentsMark] = marks.Mark{Value: by.Override}
		}
	}
	return set
}

func withMode(protections []*selection.Protection, mode v1alpha1.ProtectionMode) (out []*selection.Protection) {
	for _, p := range protections {
		if p.Mode == mode {
			out = append(out, p)
		}
	}
	return out
}

// holding is what hangs below an object.
func (m *Marker) holding(kind inventory.Kind, o *metav1.PartialObjectMetadata) contents.Holding {
	switch kind.Resource {
	case namespaces:
		return m.index.InNamespace(o.Name)
	case inventory.CRDs:
		return m.index.OfResource(schema.ParseGroupResource(o.Name))
	}
	return m.index.Below(o.UID, o.Namespace)
}

// seenBelow reports whether everything that may hang below an object has been seen, and if not, whether it soon will be. Of
// a definition that is its objects. They are deleted with it, also those of a kind that is not served: compare enqueues the
// definition when that changes.
func (m *Marker) seenBelow(kind inventory.Kind, o *metav1.PartialObjectMetadata) (seen, soon bool) {
	if kind.Resource != inventory.CRDs {
		seen = m.allSynced() && m.volumesSeen()
		return seen, !seen
	}
	defined, ok := m.kinds.ByResource(schema.ParseGroupResource(o.Name))
	if !ok || !defined.CRD {
		return false, false
	}
	return m.seenAll(defined.GroupResource()), !defined.Unserved
}

// placeOf is the namespace as seen from which the contents of an object are
// described.
func placeOf(kind inventory.Kind, o *metav1.PartialObjectMetadata) string {
	if kind.Resource == namespaces {
		return o.Name
	}
	return o.Namespace
}

// write brings marks to an object. One that is gone needs none.
func (m *Marker) write(ctx context.Context, t target, p plan) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	out, err := m.send(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if apierrors.IsForbidden(err) && p.removesStray() {
		m.keepStray(t, p, err)
		return nil
	}
	m.note(t, p.kind.GroupKind(), err)
	if err != nil {
		delete(m.last, t) // the queue paces another try
		if apierrors.IsNotFound(err) || uid.Changed(err) {
			delete(m.recent, p.object.UID)
			return nil
		}
		return err
	}
	if marks.Stray(p.object) {
		m.cleaned.Add(out.UID, nil)
	}
	k := m.known[out.UID]
	switch {
	case k != nil && !older(out, k.meta):
		m.update(k, inventory.Strip(out))
	case k == nil && len(p.want) > 0:
		m.recent[out.UID] = p.want
	}
	if len(p.want) == 0 {
		delete(m.last, t)
		delete(m.recent, out.UID)
	}
	return nil
}

// removesStray reports whether the plan only removes marks that have no effect.
func (p plan) removesStray() bool {
	return len(p.want) == 0 && marks.Stray(p.object) && !marks.Unbound(p.object)
}

// keepStray gives up on stray marks that Holdfast may not remove: RBAC forbids updating a Role with rights that Holdfast
// lacks, even for its labels.
func (m *Marker) keepStray(t target, p plan, err error) {
	m.cleaned.Add(p.object.UID, nil)
	delete(m.last, t)
	ctrl.Log.WithName("marks").Info("Stray marks stay on an object that Holdfast may not update", "resource", t.resource.String(),
		"namespace", t.namespace, "name", t.name, "error", err.Error())
}

// send writes what is planned. What is on its way out keeps its override: without
// it what hangs below would be refused, and the deletion would never end. No watch
// says in time that it has begun.
func (m *Marker) send(ctx context.Context, p plan) (*metav1.PartialObjectMetadata, error) {
	if !p.ends {
		return m.writer.Write(ctx, p.kind, p.object, p.want)
	}
	live, err := m.o.Metadata.Resource(p.kind.Resource).Namespace(p.object.Namespace).Get(ctx, p.object.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("get what an override ends for: %w", err)
	case p.object.UID != "" && live.UID != p.object.UID:
		return nil, apierrors.NewNotFound(p.kind.GroupResource(), p.object.Name)
	case live.DeletionTimestamp != nil:
		return live, nil
	}
	out, err := m.writer.WriteUnchanged(ctx, p.kind, live, p.want)
	if apierrors.IsConflict(err) {
		return nil, errors.New("it has changed while its override ended")
	}
	return out, err
}

// note keeps which objects cannot be marked, for the protections that name their
// kind. One that is gone needs no mark.
func (m *Marker) note(t target, kind schema.GroupKind, err error) {
	before := len(m.unmarked[kind])
	switch {
	case err == nil, apierrors.IsNotFound(err), uid.Changed(err):
		m.marked(t, kind)
	case m.unmarked[kind] == nil:
		m.unmarked[kind] = map[target]string{t: err.Error()}
	default:
		m.unmarked[kind][t] = err.Error()
	}
	if (before == 0) != (len(m.unmarked[kind]) == 0) {
		m.changedKind(kind)
	}
}

// marked takes in that an object can be marked, or that it is gone.
func (m *Marker) marked(t target, kind schema.GroupKind) {
	delete(m.unmarked[kind], t)
	if len(m.unmarked[kind]) == 0 {
		delete(m.unmarked, kind)
	}
}

// changedKind tells the protections that name a kind that something has changed.
func (m *Marker) changedKind(kind schema.GroupKind) {
	for _, p := range m.o.Protections.Naming(kind) {
		m.o.Changed(p)
	}
}

// servedAgain tells the protections that name a kind that the API server has begun
// to serve, or does not serve any more.
func (m *Marker) servedAgain(before, after *inventory.Snapshot) {
	if before == nil {
		return // everything is told of when it has been looked at
	}
	for _, kind := range m.o.Protections.Kinds() {
		a, had := before.ByKind(kind)
		b, has := after.ByKind(kind)
		if had != has || Guarded(a) != Guarded(b) {
			m.changedKind(kind)
		}
	}
}
