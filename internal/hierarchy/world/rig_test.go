// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// rig is a World that is told everything by the test.
type rig struct {
	*World
	t     *testing.T
	kinds *inventory.Snapshot
	// dirty is what followed from the last change.
	dirty Dirty
	turn  int
	// objects are the sources as they were told last, by namespace and name.
	objects map[string]*unstructured.Unstructured
}

var (
	roles        = rbac("roles", "Role")
	roleBindings = rbac("rolebindings", "RoleBinding")
)

func rbac(resource, kind string) inventory.Kind {
	return inventory.Kind{
		Resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}, Kind: kind, Namespaced: true,
		Verbs: []string{"list", "watch", "create", "update", "delete"},
	}
}

// newRig is one that knows what there is of everything, which is nothing, and has
// Roles and RoleBindings copied.
func newRig(t *testing.T) *rig {
	t.Helper()
	c := loaded(t)
	r := &rig{t: t, kinds: inventory.NewSnapshot([]inventory.Kind{roles, roleBindings}), objects: map[string]*unstructured.Unstructured{}}
	r.World = New(Options{
		Kinds:    func() *inventory.Snapshot { return r.kinds },
		Settings: func(more []string) (settings.Settings, error) { return settings.New(c, "holdfast-system", more) },
		Changed:  func(d Dirty) { r.dirty = d },
		Declared: func() {},
	})
	if !r.enter() {
		t.Fatal("nothing is followed")
	}
	r.do(func(s *state, b *batch) {
		s.setResources(r.kinds, b)
		for _, crd := range []inventory.ObjectSource{configCRD, anchorCRD} {
			s.seen(crd, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: crd.Name, UID: types.UID(crd.Name)}}, b)
		}
		for _, from := range append(slices.Clone(base), r.source(), r.sourceOf(roleBindings)) {
			s.syncedNow(from, b)
		}
	})
	return r
}

func (r *rig) do(e event) {
	r.t.Helper()
	r.dirty = Dirty{}
	r.change(e)
}

// source is where Roles come from.
func (r *rig) source() inventory.ObjectSource { return r.sourceOf(roles) }

func (r *rig) sourceOf(kind inventory.Kind) (of inventory.ObjectSource) {
	for of = range r.state.kinds {
		if of.Resource == kind.Resource {
			return of
		}
	}
	return of
}

// tell tells what happens, one thing a line, all at once.
//
//	ns a x=1        there is a namespace with a label
//	parent b=a      the HierarchyConfiguration of b says a
//	role a/x k=v    there is a source with an annotation propagate.hnc.x-k8s.io/k
//	rb a/x k=v      there is a RoleBinding that refers to the Role x, with such an annotation
//	bind b/x<a      there is a copy of that
//	unbind b/x      somebody deletes a RoleBinding or a copy of one
//	copy b/x<a      there is a copy of it
//	delete a/x      somebody deletes a source or a copy
//	miss a/x        it is missing from a list
func (r *rig) tell(lines string) {
	r.t.Helper()
	r.do(func(s *state, b *batch) {
		for line := range strings.Lines(lines) {
			if words := strings.Fields(line); len(words) > 0 {
				r.one(s, b, words)
			}
		}
	})
}

func (r *rig) one(s *state, b *batch, words []string) {
	r.t.Helper()
	what, more := words[1], words[2:]
	switch words[0] {
	case "ns":
		s.seen(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: what, Labels: pairs(more, "")}}, b)
	case "parent":
		child, parent, _ := strings.Cut(what, "=")
		hc := &hncv1alpha2.HierarchyConfiguration{Spec: hncv1alpha2.HierarchyConfigurationSpec{Parent: parent}}
		hc.Namespace, hc.Name = child, hncv1alpha2.HierarchyConfigurationName
		s.seen(configs, hc, b)
	case "role":
		u := r.object(what)
		u.SetAnnotations(pairs(more, "propagate.hnc.x-k8s.io/"))
		r.objects[what] = u
		s.seen(r.source(), u, b)
	case "rb":
		u := r.object(what)
		u.SetKind("RoleBinding")
		u.Object["roleRef"] = map[string]any{"kind": "Role", "name": "x"}
		u.SetAnnotations(pairs(more, "propagate.hnc.x-k8s.io/"))
		r.objects["rb "+what] = u
		s.seen(r.sourceOf(roleBindings), u, b)
	case "copy":
		s.seen(r.source(), r.copied(s, what, ""), b)
	case "bind":
		s.seen(r.sourceOf(roleBindings), r.copied(s, what, "rb "), b)
	case "unbind":
		namespace, name, _ := strings.Cut(what, "/")
		var o metav1.Object = r.objects["rb "+what]
		if c := s.copies[binding(name)][namespace]; c != nil {
			o = c
		}
		s.gone(r.sourceOf(roleBindings), o, false, b)
	case "delete", "miss":
		namespace, name, _ := strings.Cut(what, "/")
		var o metav1.Object = r.objects[what]
		if c := s.copies[role(name)][namespace]; c != nil {
			o = c
		}
		s.gone(r.source(), o, words[0] == "miss", b)
	default:
		r.t.Fatalf("what is %q?", words)
	}
}

// copied is a copy that b/x<a names, of an object whose key has a prefix.
func (r *rig) copied(s *state, what, prefix string) *Copy {
	place, from, _ := strings.Cut(what, "<")
	namespace, name, _ := strings.Cut(place, "/")
	u := s.sources.Rules().Copied(r.objects[prefix+from+"/"+name], namespace)
	r.turn++
	u.SetResourceVersion(strconv.Itoa(r.turn))
	u.SetUID(types.UID(prefix + "copy in " + namespace))
	return copyOf(u)
}

// object is a Role as it is now: each one has a version of its own.
func (r *rig) object(at string) *unstructured.Unstructured {
	namespace, name, _ := strings.Cut(at, "/")
	r.turn++
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("rbac.authorization.k8s.io/v1")
	u.SetKind("Role")
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID("source in " + namespace))
	u.SetResourceVersion(strconv.Itoa(r.turn))
	return u
}

func pairs(words []string, prefix string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		out[prefix+key] = value
	}
	return out
}

func role(name string) propagate.Key { return propagate.Key{Kind: roles.GroupKind(), Name: name} }

func binding(name string) propagate.Key {
	return propagate.Key{Kind: roleBindings.GroupKind(), Name: name}
}

// plan is that of a place for a copy.
func (r *rig) plan(at string) *CopyPlan {
	namespace, name, _ := strings.Cut(at, "/")
	return r.Copy(CopyRef{role(name), namespace})
}
