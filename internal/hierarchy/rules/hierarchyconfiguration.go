// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// HierarchyConfiguration decides on what is to be written in a namespace, and on a
// delete, for which the spec is nil. A delete takes the parent away, so it is
// decided on like an empty parent; it does not where the annotation of a
// subnamespace says the parent, or where the namespace is going itself.
func (w World) HierarchyConfiguration(namespace string, spec *hncv1alpha2.HierarchyConfigurationSpec) Verdict {
	o := w.Tree.Get(namespace)
	if spec == nil {
		if o == nil || !o.Managed || o.Terminating || o.Subnamespace {
			return allowed
		}
		spec = &hncv1alpha2.HierarchyConfigurationSpec{}
	}
	if v := w.legal(namespace, spec); v.Denied != nil {
		return v
	}
	if o == nil {
		return Unavailable(namespace)
	}
	if v := stuck(namespace, o, spec.Parent); v.Denied != nil {
		return v
	}
	if spec.Parent == o.Parent {
		return w.relabel(namespace, o, spec)
	}
	if v := w.place(namespace, spec); v.Denied != nil {
		return v
	}
	return w.authorize(o.Parent, spec.Parent)
}

// relabel decides on a change that leaves the parent as it is.
func (w World) relabel(namespace string, o *tree.Outcome, spec *hncv1alpha2.HierarchyConfigurationSpec) Verdict {
	if o.Subnamespace || slices.Equal(spec.Labels, o.Spec.Labels) { // those of a subnamespace are in its anchor
		return allowed
	}
	return w.displaces(namespace, tree.SetConfig(namespace, spec))
}

// stuck looks whether a namespace can have another parent at all.
func stuck(namespace string, o *tree.Outcome, parent string) Verdict {
	switch {
	case o.HaltedBy != "" && o.HaltedBy != namespace:
		return forbidden("the ancestor %q is halted; mend that first", o.HaltedBy)
	case o.External && parent != "":
		return forbidden("%q is managed by somebody else, so it cannot have a parent here", namespace)
	case o.Subnamespace && parent != o.Parent:
		return conflict("%q is a subnamespace of %q, and that cannot be changed here", namespace, o.Parent)
	}
	return allowed
}

// legal looks at the request without the tree.
func (w World) legal(namespace string, spec *hncv1alpha2.HierarchyConfigurationSpec) Verdict {
	if !w.managed(namespace) {
		return forbidden("the namespace %q is not managed", namespace)
	}
	if !w.managed(spec.Parent) {
		return forbidden("the namespace %q is not managed, so it cannot be a parent", spec.Parent)
	}
	return w.pairs(spec.Labels, spec.Annotations)
}

// pairs looks at managed labels and annotations.
func (w World) pairs(labels, annotations []hncv1alpha2.MetaKVP) Verdict {
	s := w.Tree.Settings()
	for _, kv := range labels {
		if v := key("label", kv.Key, s.ManagedLabel); v.Denied != nil {
			return v
		}
		if problems := validation.IsValidLabelValue(kv.Value); len(problems) > 0 {
			return invalid("the label %s cannot be %q: %s", kv.Key, kv.Value, strings.Join(problems, "; "))
		}
	}
	for _, kv := range annotations {
		if v := key("annotation", kv.Key, s.ManagedAnnotation); v.Denied != nil {
			return v
		}
	}
	return allowed
}

func key(what, key string, keys tree.Keys) Verdict {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return invalid("%q is no key of a %s: %s", key, what, strings.Join(problems, "; "))
	}
	if !keys.Has(key) {
		return invalid("the configuration does not let the %s %q be managed", what, key)
	}
	return allowed
}

// place looks whether a namespace can stand below its new parent, or be a root.
func (w World) place(namespace string, spec *hncv1alpha2.HierarchyConfigurationSpec) Verdict {
	if spec.Parent != "" && w.Tree.Get(spec.Parent) == nil {
		return forbidden("the parent %q does not exist", spec.Parent)
	}
	if path := w.pathTo(spec.Parent, namespace); path != nil {
		return conflict("%q would be its own ancestor: %s", namespace, strings.Join(path, " -> "))
	}
	return w.displaces(namespace, tree.SetConfig(namespace, spec))
}

// displaces refuses a change after which sources in a subtree would give way to others that did not before: by another place
// of the subtree, or by other labels, which exceptions select by.
func (w World) displaces(root string, changes ...tree.Edit) Verdict {
	after, _ := w.Tree.Apply(changes...)
	if lost := w.overwritten(after, root); len(lost) > 0 {
		return conflict("objects from above would take the place of others: %s", strings.Join(lost, ", "))
	}
	return allowed
}

// pathTo walks from a namespace up to one of its ancestors, or to itself, and
// returns the way, or nil if there is none. It follows what namespaces say, so it
// finds its way in cycles.
func (w World) pathTo(from, ancestor string) []string {
	var path []string
	for cur := from; cur != "" && !slices.Contains(path, cur); {
		path = append(path, cur)
		if cur == ancestor {
			return path
		}
		o := w.Tree.Get(cur)
		if o == nil {
			return nil
		}
		cur = o.Parent
	}
	return nil
}

// overwritten are the sources in a subtree that would give way to one above them
// after a move, and did not before. That other one may be in the subtree too: its
// exceptions may let it through where the tree labels are other ones.
func (w World) overwritten(after *tree.Tree, root string) []string {
	var out []string
	for _, namespace := range append([]string{root}, after.Descendants(root)...) {
		for _, k := range w.Sources.In(namespace) {
			if w.Sources.Get(k, namespace).Restored {
				continue
			}
			before := w.above(w.Tree, k, namespace)
			for _, a := range w.above(after, k, namespace) {
				if !slices.Contains(before, a) {
					out = append(out, k.Kind.Kind+" "+namespace+"/"+k.Name+" by that in "+a)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// above are the namespaces above one with a source that is to be copied there.
func (w World) above(t *tree.Tree, k propagate.Key, namespace string) []string {
	r := w.Sources.Rules()
	if !r.Copies(k.Kind) {
		return nil
	}
	var out []string
	for _, a := range t.Ancestors(namespace) {
		if s := w.Sources.Get(k, a); s != nil && s.Eligible(r.Mode(k.Kind), t.Get(namespace).Labels) {
			out = append(out, a)
		}
	}
	return out
}

// authorize says where the user must have rights for a change of parents.
func (w World) authorize(before, after string) Verdict {
	if !w.managed(before) {
		before = ""
	}
	switch {
	case before == "":
		return Verdict{Authorize: []string{after}}
	case w.Tree.Get(before) == nil:
		v := Verdict{Confirm: before}
		if after != "" {
			v.Authorize = []string{after}
		}
		return v
	case after == "":
		return Verdict{Authorize: []string{w.Tree.Root(before)}}
	}
	below := append([]string{before}, w.Tree.Ancestors(before)...)
	for _, common := range append([]string{after}, w.Tree.Ancestors(after)...) {
		if slices.Contains(below, common) {
			return Verdict{Authorize: []string{common}}
		}
	}
	return Verdict{Authorize: []string{w.Tree.Root(before), after}}
}
