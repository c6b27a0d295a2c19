// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Ref names an anchor.
type Ref struct{ Namespace, Name string }

// CopyRef names a place for a copy.
type CopyRef struct {
	propagate.Key
	Namespace string
}

// Dirty is what may have to be written.
type Dirty struct {
	// Namespaces are those whose labels or HierarchyConfiguration may be wrong.
	Namespaces sets.Set[string]
	// Moved are those among them that stand elsewhere than before.
	Moved   sets.Set[string]
	Anchors sets.Set[Ref]
	Copies  sets.Set[CopyRef]
	// Sources are those of which somebody should be told why they are not copied.
	Sources sets.Set[CopyRef]
	// Config says that the status of the HNCConfiguration may be wrong.
	Config bool
	// Synced says that the objects of a kind are known now, or cannot be.
	Synced bool
}

func (d Dirty) empty() bool {
	return len(d.Namespaces)+len(d.Anchors)+len(d.Copies)+len(d.Sources) == 0 && !d.Config && !d.Synced
}

// batch is what happens at once.
type batch struct {
	edits      []tree.Edit
	namespaces sets.Set[string]
	anchors    sets.Set[Ref]
	sources    sets.Set[CopyRef] // namespaces and keys of sources that changed
	copies     sets.Set[CopyRef]
	roles      sets.Set[CopyRef]          // copies of Roles that changed
	kinds      sets.Set[schema.GroupKind] // of which all may be wrong
	all        bool
	config     bool
	synced     bool
	declared   bool
}

func newBatch() *batch {
	return &batch{
		namespaces: sets.New[string](), anchors: sets.New[Ref](), sources: sets.New[CopyRef](),
		copies: sets.New[CopyRef](), roles: sets.New[CopyRef](), kinds: sets.New[schema.GroupKind](),
	}
}

func (b *batch) edit(e tree.Edit) { b.edits = append(b.edits, e) }

func (b *batch) changedSource(k propagate.Key, namespace string) {
	b.sources.Insert(CopyRef{k, namespace})
}

// settle works out what follows from a batch.
func (s *state) settle(b *batch) Dirty {
	before := s.tree
	var changed []string
	if len(b.edits) > 0 {
		s.tree, changed = before.Apply(b.edits...)
	}
	s.countExternal(before, changed, b)
	if !s.complete {
		return Dirty{}
	}
	if b.all {
		d := s.everything()
		s.atFirst(&d)
		return d
	}
	d := Dirty{
		Namespaces: b.namespaces.Insert(changed...), Moved: sets.New[string](), Anchors: b.anchors, Copies: sets.New[CopyRef](),
		Sources: sets.New[CopyRef](), Config: b.config || len(changed) > 0, Synced: b.synced,
	}
	for _, name := range changed {
		s.follow(before, name, &d)
	}
	for at := range b.sources {
		d.Copies.Insert(at)
		s.tellOf(at, &d)
		for _, below := range s.tree.Descendants(at.Namespace) {
			d.Copies.Insert(CopyRef{at.Key, below})
		}
		s.followRole(at, false, &d)
	}
	for at := range b.roles {
		s.followRole(at, true, &d)
	}
	for kind := range b.kinds {
		s.allOfKind(kind, &d)
	}
	for at := range b.copies {
		if !s.inOrder(at) {
			d.Copies.Insert(at)
		}
	}
	s.dropUnsynced(&d)
	s.atFirst(&d)
	return d
}

// atFirst leaves out the copies that are as they should be, of kinds that have just
// become known: they are nearly all that there are, and none of them waits to go.
func (s *state) atFirst(d *Dirty) {
	for _, k := range s.kinds {
		if kind := k.GroupKind(); s.ready(k) && !s.once.Has(kind) {
			s.once.Insert(kind)
			maps.DeleteFunc(d.Copies, func(at CopyRef, _ sets.Empty) bool { return at.Kind == kind && s.inOrder(at) })
		}
	}
}

// inOrder says whether a copy is as it should be: most that the watch tells of are,
// since they have just been written. One that may be because its source or its place
// has changed is looked at all the same: it may have waited to go.
func (s *state) inOrder(at CopyRef) bool { return s.follows(at, s.decide(at)) }

// follows reports whether there is the copy that a verdict asks for.
func (s *state) follows(at CopyRef, v propagate.Verdict) bool {
	have := s.copies[at.Key][at.Namespace]
	if have == nil || v.Action != propagate.Copy || v.Source.Namespace != have.From {
		return false
	}
	from := s.objects[at.Key][have.From]
	return from != nil && from.Digest == have.Digest
}

// countExternal counts the namespaces whose labels are somebody else's. New ones are
// asked about only where there are any.
func (s *state) countExternal(before *tree.Tree, changed []string, b *batch) {
	had := s.external > 0
	for _, name := range changed {
		if o := before.Get(name); o != nil && o.External {
			s.external--
		}
		if o := s.tree.Get(name); o != nil && o.External {
			s.external++
		}
	}
	b.declared = b.declared || had != (s.external > 0)
}

// follow takes in that something else follows for a namespace than before.
func (s *state) follow(before *tree.Tree, name string, d *Dirty) {
	was, is := before.Get(name), s.tree.Get(name)
	s.followAnchors(was, is, name, d)
	if is == nil {
		return
	}
	if (was == nil || len(was.Children) == 0) && len(is.Children) > 0 {
		for _, k := range s.sources.In(name) {
			s.tellOf(CopyRef{k, name}, d)
		}
	}
	if was != nil && sameForCopies(was, is) && slices.Equal(before.Ancestors(name), s.tree.Ancestors(name)) {
		return
	}
	d.Moved.Insert(name)
	for _, k := range s.sources.Into(s.tree, name) {
		d.Copies.Insert(CopyRef{k, name})
	}
	for k := range s.copiesIn[name] {
		d.Copies.Insert(CopyRef{k, name})
	}
}

// followAnchors takes in that something else follows for the anchors in a namespace,
// or for those of its name.
func (s *state) followAnchors(was, is *tree.Outcome, name string, d *Dirty) {
	if is != nil && (was == nil || !maps.Equal(was.Anchors, is.Anchors) || was.Managed != is.Managed) {
		for anchor := range is.Anchors {
			d.Anchors.Insert(Ref{name, anchor})
		}
	}
	if was != nil && is != nil && sameForAnchor(was, is) {
		return
	}
	for _, in := range s.tree.AnchoredIn(name) {
		d.Anchors.Insert(Ref{in, name})
	}
}

// sameForAnchor says whether the same becomes of the anchor of a namespace, as far
// as the namespace itself goes: whether it goes with the anchor depends on it.
func sameForAnchor(was, is *tree.Outcome) bool {
	return was.Terminating == is.Terminating && slices.Equal(was.Children, is.Children) && was.AllowCascadingDeletion == is.AllowCascadingDeletion
}

// sameForCopies says whether the same is copied into a namespace, as far as the
// namespace itself goes.
func sameForCopies(was, is *tree.Outcome) bool {
	return was.Managed == is.Managed && was.Terminating == is.Terminating && was.Halted() == is.Halted() && maps.Equal(was.Labels, is.Labels)
}

// tellOf notes a source if somebody should be told why it is not copied.
func (s *state) tellOf(at CopyRef, d *Dirty) {
	source, o := s.sources.Get(at.Key, at.Namespace), s.tree.Get(at.Namespace)
	if source == nil || o == nil || len(o.Children) == 0 || !s.sources.Rules().Copies(at.Kind) {
		return
	}
	if source.Problem != nil || source.Held {
		d.Sources.Insert(at)
	}
}

// everything is all that there is.
func (s *state) everything() Dirty {
	d := Dirty{
		Namespaces: sets.KeySet(s.namespaces), Moved: sets.New[string](), Anchors: sets.New[Ref](), Copies: sets.New[CopyRef](),
		Sources: sets.New[CopyRef](), Config: true, Synced: true,
	}
	for name, ns := range s.namespaces {
		if unfinished(ns, s.tree.Get(name)) {
			d.Moved.Insert(name)
		}
	}
	for k, in := range s.objects {
		for namespace := range in {
			s.tellOf(CopyRef{k, namespace}, &d)
		}
	}
	for namespace, in := range s.anchors {
		for name := range in {
			d.Anchors.Insert(Ref{namespace, name})
		}
	}
	for _, k := range s.kinds {
		s.allOfKind(k.GroupKind(), &d)
	}
	s.dropUnsynced(&d)
	return d
}

// unfinished says whether a namespace was on its way to another place when whoever
// wrote last ended: its labels do not say yet where it stands, or its condition
// does not say that all is there.
func unfinished(ns *corev1.Namespace, o *tree.Outcome) bool {
	if !maps.Equal(depths(ns.Labels), depths(o.Labels)) {
		return true // whatever was said before it was on its way
	}
	for _, c := range ns.Status.Conditions {
		if c.Type == v1alpha1.ConditionPropagationComplete {
			return c.Status != corev1.ConditionTrue
		}
	}
	// Holdfast creates subnamespaces with all their labels, and with a claim. HNC's have none.
	return o.Subnamespace && ns.Annotations[v1alpha1.ClaimsAnnotation] != ""
}

// depths are the labels that say where a namespace stands.
func depths(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if strings.HasSuffix(key, hncv1alpha2.LabelTreeDepthSuffix) {
			out[key] = value
		}
	}
	return out
}

func (s *state) allOfKind(kind schema.GroupKind, d *Dirty) {
	for k, in := range s.objects {
		if k.Kind != kind {
			continue
		}
		for namespace := range in {
			for _, below := range s.tree.Descendants(namespace) {
				d.Copies.Insert(CopyRef{k, below})
			}
		}
	}
	for k, in := range s.copies {
		if k.Kind != kind {
			continue
		}
		for namespace := range in {
			d.Copies.Insert(CopyRef{k, namespace})
		}
	}
}

// dropUnsynced leaves out kinds of which not all is known yet, or not all that their
// copies depend on: what is missing of those may not have been seen.
func (s *state) dropUnsynced(d *Dirty) {
	ready := map[schema.GroupKind]bool{}
	for _, k := range s.kinds {
		ready[k.GroupKind()] = s.ready(k)
	}
	for c := range d.Copies {
		if !ready[c.Kind] {
			d.Copies.Delete(c)
		}
	}
}
