// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
)

// seen takes in an object that appeared or changed.
func (s *state) seen(from inventory.ObjectSource, o metav1.Object, b *batch) {
	switch o := o.(type) {
	case *corev1.Namespace:
		s.namespaces[o.Name] = o
		b.edit(tree.SetNamespace(o.Name, treeObject(o, append(s.settings.ManagedAnnotations(), s.settings.ManagedLabels()...))))
		b.namespaces.Insert(o.Name)
	case *hncv1alpha2.HierarchyConfiguration:
		if o.Name == hncv1alpha2.HierarchyConfigurationName {
			// One that is being deleted still says what it says, until it is gone.
			s.configs[o.Namespace] = o
			b.edit(tree.SetConfig(o.Namespace, o.Spec.DeepCopy()))
			b.namespaces.Insert(o.Namespace)
		}
	case *hncv1alpha2.SubnamespaceAnchor:
		s.putAnchor(o, b)
	case *hncv1alpha2.HNCConfiguration:
		if o.Name == hncv1alpha2.HNCConfigurationName {
			s.hnc, b.config = o, true
		}
	case *metav1.PartialObjectMetadata:
		s.seenDefinition(from, o, b)
	case *Copy:
		s.seenCopy(from, o, b)
	case *unstructured.Unstructured:
		s.seenSource(from, o, b)
	}
}

func (s *state) putAnchor(o *hncv1alpha2.SubnamespaceAnchor, b *batch) {
	if s.anchors[o.Namespace] == nil {
		s.anchors[o.Namespace] = map[string]*hncv1alpha2.SubnamespaceAnchor{}
	}
	s.anchors[o.Namespace][o.Name] = o
	b.edit(tree.SetAnchor(o.Namespace, o.Name, o.Spec.DeepCopy()))
	b.anchors.Insert(Ref{o.Namespace, o.Name})
	b.namespaces.Insert(o.Namespace)
}

// gone takes in that an object is not there any more.
func (s *state) gone(from inventory.ObjectSource, o metav1.Object, missed bool, b *batch) {
	name, namespace := o.GetName(), o.GetNamespace()
	switch o.(type) {
	case *corev1.Namespace:
		delete(s.namespaces, name)
		b.edit(tree.SetNamespace(name, nil))
		b.namespaces.Insert(name)
	case *hncv1alpha2.HierarchyConfiguration:
		if name == hncv1alpha2.HierarchyConfigurationName {
			delete(s.configs, namespace)
			b.edit(tree.SetConfig(namespace, nil))
			b.namespaces.Insert(namespace)
		}
	case *hncv1alpha2.SubnamespaceAnchor:
		dropFrom(s.anchors, namespace, name)
		b.edit(tree.SetAnchor(namespace, name, nil))
		b.namespaces.Insert(namespace)
	case *hncv1alpha2.HNCConfiguration:
		if name == hncv1alpha2.HNCConfigurationName {
			s.hnc, b.config = nil, true
		}
	case *metav1.PartialObjectMetadata:
		s.goneDefinition(from, b)
	case *Copy, *unstructured.Unstructured:
		s.goneObject(from, o, missed, b)
	}
}

func (s *state) seenCopy(from inventory.ObjectSource, c *Copy, b *batch) {
	kind := s.kinds[from]
	if kind == nil {
		return
	}
	k := propagate.Key{Kind: kind.GroupKind(), Name: c.Name}
	if !sameRole(s.copies[k][c.Namespace], c) {
		b.roles.Insert(CopyRef{k, c.Namespace})
	}
	if s.dropSource(k, c.Namespace) { // it has become a copy
		s.sources = s.sources.Without(k, c.Namespace)
		b.changedSource(k, c.Namespace)
	}
	if before := s.copies[k][c.Namespace]; before == nil {
		b.config = true
	} else {
		if before.ResourceVersion == c.ResourceVersion { // the echo of a write, as the API server has it
			c.explained = before.explained
			s.putCopy(k, c)
			if before.Digest != c.Digest {
				b.copies.Insert(CopyRef{k, c.Namespace})
			}
			return
		}
		if before.wrote && resourceversion.Newer(before.ResourceVersion, c.ResourceVersion) { // from before the write
			return
		}
		c.explained = before.explained && before.From == c.From && before.UID == c.UID
	}
	s.putCopy(k, c)
	b.copies.Insert(CopyRef{k, c.Namespace})
}

func (s *state) seenSource(from inventory.ObjectSource, u *unstructured.Unstructured, b *batch) {
	kind := s.kinds[from]
	if kind == nil {
		return
	}
	k, namespace := propagate.Key{Kind: kind.GroupKind(), Name: u.GetName()}, u.GetNamespace()
	if s.dropCopy(k, namespace) { // it is no copy any more
		b.copies.Insert(CopyRef{k, namespace})
	}
	o := &Source{Object: u, Role: propagate.BoundRole(k.Kind, u), Rules: propagate.RulesOf(k.Kind, u)}
	var err error
	if o.Digest, err = s.sources.Rules().Digest(u); err != nil {
		ctrl.Log.WithName("hierarchy").Error(err, "An object cannot be copied")
		return
	}
	before := s.objects[k][namespace]
	s.putSource(k, namespace, o)
	if before == nil {
		b.config = true
	} else if before.Digest == o.Digest && equality.Semantic.DeepEqual(describe(k.Kind, before.Object), describe(k.Kind, u)) {
		return
	}
	is := s.sources.Rules().NewSource(describe(k.Kind, u))
	s.explain(s.sources.Get(k, namespace), is)
	s.sources = s.sources.With(is)
	b.changedSource(k, namespace)
}

// explain notes which copies go because somebody has changed their source: it says,
// and did not before, that they are not to be there. What cannot be read says
// nothing; and that the source was deleted counts no more if it says otherwise now.
func (s *state) explain(was, is *propagate.Source) {
	mode := s.sources.Rules().Mode(is.Kind)
	for namespace, c := range s.copies[is.Key] {
		if c.From != is.Namespace {
			continue
		}
		var labels map[string]string
		if o := s.tree.Get(namespace); o != nil {
			labels = o.Labels
		}
		goes := is.Problem == nil && !is.Eligible(mode, labels)
		c.explained = goes && (c.explained || was != nil && was.Eligible(mode, labels))
	}
}

func (s *state) goneObject(from inventory.ObjectSource, o metav1.Object, missed bool, b *batch) {
	kind := s.kinds[from]
	if kind == nil {
		return
	}
	k, namespace := propagate.Key{Kind: kind.GroupKind(), Name: o.GetName()}, o.GetNamespace()
	b.config = true
	s.ended.add(o.GetUID())
	if c := s.copies[k][namespace]; c != nil && c.UID != o.GetUID() {
		return // it has been replaced, and the news of that came first
	}
	if s.dropCopy(k, namespace) {
		b.copies.Insert(CopyRef{k, namespace})
		b.roles.Insert(CopyRef{k, namespace})
	}
	if !s.dropSource(k, namespace) {
		return
	}
	s.sources = s.sources.Without(k, namespace)
	b.changedSource(k, namespace)
	if missed {
		return
	}
	for _, c := range s.copies[k] {
		if c.From == namespace {
			c.explained = true
		}
	}
}

// syncedNow takes in that all objects of a source are known.
func (s *state) syncedNow(from inventory.ObjectSource, b *batch) {
	if kind := s.kinds[from]; kind != nil {
		if !kind.synced {
			kind.synced = true
			b.kinds.Insert(kind.GroupKind())
			if kind.GroupKind() == propagate.RoleKind {
				b.kinds.Insert(propagate.RoleBindingKind)
			}
			b.config, b.synced = true, true
		}
		return
	}
	s.synced.Insert(from)
	if (from == configCRD || from == anchorCRD) && s.definitions[from].uid == "" {
		s.goneDefinition(from, b)
	}
	if !s.complete && s.synced.HasAll(base...) {
		s.complete, b.all, b.declared = true, true, true
	}
}

// failed takes in that a source cannot be watched, or with an empty message that it
// can again.
func (s *state) failed(from inventory.ObjectSource, message string, b *batch) {
	// The first text stays while it lasts: they can differ each time.
	if kind := s.kinds[from]; kind != nil && (kind.failing == "") != (message == "") {
		kind.failing = message
		b.config, b.synced = true, true
	}
	if !slices.Contains(base, from) {
		return
	}
	if message != "" {
		s.blind.Insert(from)
		return
	}
	s.blind.Delete(from)
	s.lookAtAnchors(b)
}

// setSettings takes in another configuration.
func (s *state) setSettings(to settings.Settings, b *batch) {
	s.settings = to
	b.edit(tree.SetSettings(to.Tree(s.definitions[configCRD].going)))
	for name, ns := range s.namespaces { // other keys may be managed
		b.edit(tree.SetNamespace(name, treeObject(ns, append(to.ManagedAnnotations(), to.ManagedLabels()...))))
	}
	s.rebuild(b)
}

// rebuild makes the sources anew, for other rules.
func (s *state) rebuild(b *batch) {
	rules := s.settings.Rules(s.modes())
	s.sources = propagate.NewSources(rules)
	for k, in := range s.objects {
		for namespace, o := range in {
			// Whoever holds the one from before goes on with that.
			if digest, err := rules.Digest(o.Object); err == nil && digest != o.Digest {
				o = &Source{Object: o.Object, Digest: digest, Role: o.Role, Rules: o.Rules}
				in[namespace] = o
			}
			s.sources = s.sources.With(rules.NewSource(describe(k.Kind, o.Object)))
		}
	}
	b.all, b.declared = true, true
}

// setResources takes in what is to be copied, and says which kinds to begin and
// which to stop to follow.
func (s *state) setResources(kinds *inventory.Snapshot, b *batch) (started, stopped []inventory.ObjectSource) {
	var specs []hncv1alpha2.ResourceSpec
	if s.hnc != nil {
		specs = s.hnc.Spec.Resources
	}
	resources := Resolve(kinds, specs, s.meant)
	if equality.Semantic.DeepEqual(resources, s.resources) {
		return nil, nil
	}
	s.resources, s.meant, b.config = resources, meanings(resources, s.meant), true
	wanted := map[schema.GroupVersionResource]Resource{}
	for _, r := range resources {
		if r.Problem == "" && propagate.Follows(r.Mode) {
			wanted[r.Kind.Resource] = r
		}
	}
	for source, k := range s.kinds {
		r, ok := wanted[source.Resource]
		if !ok {
			stopped = append(stopped, source)
			delete(s.kinds, source)
			s.forget(k.GroupKind())
			continue
		}
		k.mode = r.Mode
		delete(wanted, source.Resource)
	}
	for _, r := range wanted {
		s.turn++
		source := inventory.ObjectSource{Resource: r.Kind.Resource, Turn: s.turn}
		s.kinds[source] = &kind{Kind: r.Kind, mode: r.Mode}
		started = append(started, source)
	}
	s.rebuild(b)
	return started, stopped
}
