// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
)

// Seen implements inventory.Handler.
func (m *Marker) Seen(s inventory.Source, o *metav1.PartialObjectMetadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Resource == namespaces {
		before := m.namespaceLabels[o.Name]
		m.namespaceLabels[o.Name] = o.Labels
		if !maps.Equal(before, o.Labels) { // an object in it may have been seen before it
			m.inNamespace(o.Name)
		}
	}
	m.seen(s, o)
}

// seen takes in what a source tells of an object.
func (m *Marker) seen(s inventory.Source, o *metav1.PartialObjectMetadata) {
	src := m.sources[s]
	if src == nil {
		return // it has been stopped
	}
	k := m.known[o.UID]
	if k != nil && older(o, k.meta) {
		k.sources.Insert(s)
		return // another source told of a later state
	}
	protections, counts := m.evaluate(src.kind, o)
	if !counts {
		if k != nil {
			m.forget(k)
		}
		return
	}
	var before []target
	if k != nil {
		before = m.above(k)
		m.count(k, -1)
	} else {
		k = &known{sources: sets.New[inventory.Source]()}
		m.known[o.UID] = k
	}
	k.kind, k.protections = src.kind, protections
	m.update(k, o)
	k.sources.Insert(s)
	delete(m.recent, o.UID)
	if name := v1alpha1.MarkOf(o, v1alpha1.OverrideMark); name != "" && o.DeletionTimestamp != nil {
		m.o.OverrideGone(name)
	}
	m.count(k, +1)
	m.noteTraffic(k)
	m.noteVolume(k)
	m.put(k)
	m.enqueue(append(append(before, m.above(k)...), targetOf(k))...)
	if _, probed := m.probes[k.kind.GroupResource()]; k.kind.Aggregated && !probed {
		m.Wake()
	}
}

// put has the index know an object.
func (m *Marker) put(k *known) {
	m.index.Put(contents.Object{
		Ref:       contents.Ref{Resource: k.kind.GroupResource(), Namespace: k.meta.Namespace, Name: k.meta.Name},
		UID:       k.meta.UID,
		Owners:    owners(k.meta),
		Protected: m.isProtected(k),
		Claim:     m.claimOf(k),
	})
}

// update stores the latest state of an object.
func (m *Marker) update(k *known, o *metav1.PartialObjectMetadata) {
	k.meta = o
	switch {
	case !marks.Stray(o):
		k.straySince = time.Time{}
	case k.straySince.IsZero():
		k.straySince = m.o.Clock.Now()
	}
	m.setUnbound(o.UID, marks.Unbound(o))
}

// Gone implements inventory.Handler.
func (m *Marker) Gone(s inventory.Source, o *metav1.PartialObjectMetadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.Resource == namespaces {
		delete(m.namespaceLabels, o.Name)
	}
	if k := m.known[o.UID]; k != nil {
		m.leave(s, k)
	}
	if name := v1alpha1.MarkOf(o, v1alpha1.OverrideMark); name != "" {
		m.o.OverrideGone(name)
	}
}

// leave takes in that a source does not have an object any more. It is forgotten
// when none has.
func (m *Marker) leave(s inventory.Source, k *known) {
	k.sources.Delete(s)
	if len(k.sources) == 0 {
		m.forget(k)
	}
}

func (m *Marker) forget(k *known) {
	// Whoever may unprotect may have taken its marks away; what should carry them
	// gets them back.
	above := append(m.above(k), targetOf(k))
	m.count(k, -1)
	delete(m.last, targetOf(k))
	m.marked(targetOf(k), k.kind.GroupKind())
	delete(m.known, k.meta.UID)
	delete(m.recent, k.meta.UID)
	delete(m.whileUsed, k.meta.UID)
	delete(m.claimed, k.meta.UID)
	m.setUnbound(k.meta.UID, false)
	m.index.Delete(k.meta.UID)
	m.enqueue(above...)
}

// Synced implements inventory.Handler.
func (m *Marker) Synced(s inventory.Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if src := m.sources[s]; src != nil {
		src.synced, src.err = true, ""
	}
	if m.allSynced() {
		ctrl.Log.WithName("marks").Info("Everything that may be protected is known", "sources", len(m.sources), "objects", len(m.known))
	}
	if m.bound() {
		m.tellBound()
	}
	for _, p := range m.naming(s) {
		m.o.Changed(p)
	}
	m.Wake()
}

// Failed implements inventory.Handler. A source that has synced can fail later: a
// right was taken away, or the API server cannot read the kind any more.
func (m *Marker) Failed(s inventory.Source, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	src := m.sources[s]
	if src == nil {
		return
	}
	if src.err == "" {
		src.since = m.o.Clock.Now()
	}
	if src.err != err.Error() {
		ctrl.Log.WithName("marks").Info("Cannot watch a kind; what changes there is not seen, and nothing is unmarked before all of it was",
			"resource", s.Resource.GroupResource().String(), "label", s.Label, "error", err.Error())
	}
	src.err = err.Error()
	for _, p := range m.naming(s) {
		m.o.Changed(p)
	}
}

// Works implements inventory.Recovery.
func (m *Marker) Works(s inventory.Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	src := m.sources[s]
	if src == nil {
		return
	}
	ctrl.Log.WithName("marks").Info("A kind is watched again", "resource", s.Resource.GroupResource().String(), "label", s.Label)
	src.err = ""
	for _, p := range m.naming(s) {
		m.o.Changed(p)
	}
}

// naming are the protections that name the kind of a source.
func (m *Marker) naming(s inventory.Source) (names []string) {
	src := m.sources[s]
	if src == nil || s.Label != "" {
		return nil
	}
	return m.o.Protections.Naming(src.kind.GroupKind())
}

// allSynced reports whether the objects of all kinds have been seen, but for kinds that are not served: their objects are
// deleted with their definition alone, for which seenBelow is.
func (m *Marker) allSynced() bool {
	for _, s := range m.sources {
		if !s.synced && !s.kind.Unserved {
			return false
		}
	}
	return len(m.sources) > 0
}

// evaluate says which protections select an object, and whether it counts at
// all.
func (m *Marker) evaluate(kind inventory.Kind, o *metav1.PartialObjectMetadata) (protections []*selection.Protection, counts bool) {
	if m.inScope(kind, o) {
		protections = m.o.Protections.Match(kind.GroupKind(), o, m.namespaceLabels[o.Namespace])
	}
	if kind.Resource == inventory.APIServices {
		for _, p := range m.fronting(o.Name) {
			if !slices.Contains(protections, p) {
				protections = append(protections, p)
			}
		}
		slices.SortFunc(protections, func(a, b *selection.Protection) int { return strings.Compare(a.Name, b.Name) })
	}
	return protections, len(protections) > 0 || marks.Any(o) || m.labelled(kind, o)
}

func (m *Marker) labelled(kind inventory.Kind, o *metav1.PartialObjectMetadata) bool {
	for _, k := range m.settings.Rules.Labels() {
		if k.Protects(kind.GroupResource(), o.Labels[k.Label]) {
			return true
		}
	}
	return false
}

// inScope says whether the policies hold for an object.
func (m *Marker) inScope(kind inventory.Kind, o *metav1.PartialObjectMetadata) bool {
	switch {
	case kind.Resource == namespaces:
		return m.settings.Scope.Matches(o.Name, o.Labels)
	case o.Namespace == "":
		return true
	}
	return m.settings.Scope.Matches(o.Namespace, m.namespaceLabels[o.Namespace])
}

// isProtected says whether an object counts as protected content of what it hangs
// below. What controllers made and may delete does not.
func (m *Marker) isProtected(k *known) bool {
	return k.meta.DeletionTimestamp == nil &&
		!policy.LeftToControllers(k.kind.GroupResource(), k.meta) &&
		(len(k.protections) > 0 || m.labelled(k.kind, k.meta) && m.inScope(k.kind, k.meta))
}

// count adds an object to the matches of its protections, or takes it off.
func (m *Marker) count(k *known, n int) {
	for _, p := range k.protections {
		if m.matches[p.Name] == nil {
			m.matches[p.Name] = map[schema.GroupKind]int{}
		}
		m.matches[p.Name][k.kind.GroupKind()] += n
		m.o.Changed(p.Name)
	}
}

// above are what an object hangs below.
func (m *Marker) above(k *known) []target {
	var out []target
	o := k.meta
	if o.Namespace != "" {
		out = append(out, target{resource: namespaces.GroupResource(), name: o.Namespace})
	}
	if k.kind.CRD {
		out = append(out, target{resource: inventory.CRDs.GroupResource(), name: k.kind.CRDName()})
	}
	out = append(out, m.ownersOf(k)...)
	if i, ok := m.index.Get(o.UID); ok && i.Claim != nil {
		out = append(out, target{resource: namespaces.GroupResource(), name: i.Claim.Namespace},
			target{resource: policy.Claims, namespace: i.Claim.Namespace, name: i.Claim.Name, uid: i.Claim.UID})
	}
	for _, uid := range m.index.Ancestors(o.UID) {
		if a := m.known[uid]; a != nil {
			out = append(out, targetOf(a))
			out = append(out, m.ownersOf(a)...)
		}
	}
	return out
}

// ownersOf are the owners that an object names, in its own namespace, or without one if it has none; see contents.Index.
func (m *Marker) ownersOf(k *known) (out []target) {
	for _, r := range k.meta.OwnerReferences {
		gv, err := schema.ParseGroupVersion(r.APIVersion)
		if err != nil {
			continue // no such owner can exist
		}
		kind, ok := m.kinds.ByKind(schema.GroupKind{Group: gv.Group, Kind: r.Kind})
		if !ok || !Guarded(kind) || kind.Namespaced != (k.meta.Namespace != "") {
			continue
		}
		if kind.Aggregated && m.sources[inventory.Source{Resource: kind.Resource}] == nil {
			continue // nobody would see the mark again
		}
		out = append(out, target{resource: kind.GroupResource(), namespace: k.meta.Namespace, name: r.Name, uid: r.UID})
	}
	return out
}

func targetOf(k *known) target {
	t := target{resource: k.kind.GroupResource(), namespace: k.meta.Namespace, name: k.meta.Name, uid: k.meta.UID}
	if t.resource == namespaces.GroupResource() || t.resource == inventory.CRDs.GroupResource() {
		t.uid = "" // they are found by what is in them, which knows no UID
	}
	return t
}

func (m *Marker) enqueue(targets ...target) {
	for _, t := range targets {
		m.queue.Add(t)
	}
}

func owners(o *metav1.PartialObjectMetadata) []types.UID {
	out := make([]types.UID, 0, len(o.OwnerReferences))
	for _, r := range o.OwnerReferences {
		out = append(out, r.UID)
	}
	return out
}

// older says whether a is an earlier state of an object than b.
func older(a, b *metav1.PartialObjectMetadata) bool {
	x, errX := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, errY := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errX == nil && errY == nil && x < y
}
