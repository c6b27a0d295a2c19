// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Node is an object, and what it says about others.
type Node struct {
	ID object.ID
	// DependsOn are the objects that its annotation names.
	DependsOn []object.ID
	// Defines is the kind that a CustomResourceDefinition defines.
	Defines schema.GroupKind
	// About names it in errors.
	About knv.Resource
	// Invalid is an error about what it says; nil if there is none.
	Invalid *knv.Error
}

// NodeOf is the Node of a declared object.
func NodeOf(d object.Declared) Node {
	n := Node{ID: d.ID(), About: knv.Declared(d)}
	if IsCRD(n.ID) {
		n.Defines.Group, _, _ = unstructured.NestedString(d.Object.Object, "spec", "group")
		n.Defines.Kind, _, _ = unstructured.NestedString(d.Object.Object, "spec", "names", "kind")
	}
	var err error
	if n.DependsOn, err = References(d.Object.GetAnnotations()[object.AnnotationDependsOn]); err != nil {
		n.Invalid = knv.New(knv.Applier, "invalid annotation %q: %v", object.AnnotationDependsOn, err).About(n.About)
	}
	return n
}

// IsCRD says whether an object is a CustomResourceDefinition.
func IsCRD(id object.ID) bool { return id.GroupKind() == crdKind }

// CRD is what defines a resource, if anything does.
func CRD(r schema.GroupResource) object.ID {
	return object.ID{Group: crdKind.Group, Kind: crdKind.Kind, Name: r.String()}
}

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Graph says which objects need which. It is not changed once made.
type Graph struct {
	needs, neededBy map[object.ID][]object.ID
	// named are the needs that an annotation names.
	named map[edge]bool
	// cycle numbers the cycles that objects are in.
	cycle map[object.ID]int
	bad   map[object.ID]*knv.Error
}

type edge struct{ from, to object.ID }

// Build makes a Graph, and errors about what its objects depend on.
func Build(nodes []Node) (*Graph, []*knv.Error) {
	g := &Graph{
		needs: make(map[object.ID][]object.ID, len(nodes)), neededBy: map[object.ID][]object.ID{}, named: map[edge]bool{},
		cycle: map[object.ID]int{}, bad: map[object.ID]*knv.Error{},
	}
	byID, defines := make(map[object.ID]Node, len(nodes)), map[schema.GroupKind]object.ID{}
	for _, n := range nodes {
		byID[n.ID] = n
		if n.Defines.Kind != "" {
			defines[n.Defines] = n.ID
		}
	}
	var errs []*knv.Error
	ids := slices.SortedFunc(maps.Keys(byID), object.ID.Compare)
	for _, id := range ids {
		errs = append(errs, g.explicit(byID[id], byID)...)
		if crd, ok := defines[id.GroupKind()]; ok {
			g.connect(id, crd)
		}
		if ns := object.NamespaceID(id.Namespace); id.Namespace != "" {
			if _, ok := byID[ns]; ok {
				g.connect(id, ns)
			}
		}
	}
	return g, append(errs, g.findCycles(ids, byID)...)
}

func (g *Graph) explicit(n Node, byID map[object.ID]Node) (errs []*knv.Error) {
	if n.Invalid != nil {
		g.bad[n.ID], errs = n.Invalid, append(errs, n.Invalid)
	}
	for _, on := range n.DependsOn {
		if _, ok := byID[on]; ok {
			g.connect(n.ID, on)
			g.named[edge{n.ID, on}] = true
			continue
		}
		err := knv.New(knv.Applier, "external dependency: %s -> %s: only an object of the same source can be waited for", Reference(n.ID), Reference(on)).About(n.About)
		g.bad[n.ID], errs = err, append(errs, err)
	}
	return errs
}

func (g *Graph) connect(from, to object.ID) {
	if !slices.Contains(g.needs[from], to) {
		g.needs[from] = append(g.needs[from], to)
		g.neededBy[to] = append(g.neededBy[to], from)
	}
}

// Needs are the objects that have to be there before one is applied, and that go after
// it. The slice must not be changed.
func (g *Graph) Needs(id object.ID) []object.ID { return g.needs[id] }

// NeededBy are the objects that Needs names this one for.
func (g *Graph) NeededBy(id object.ID) []object.ID { return g.neededBy[id] }

// Named says whether an object needs another because its annotation says so.
func (g *Graph) Named(id, on object.ID) bool { return g.named[edge{id, on}] }

// Bad is the error because of which an object cannot be applied, whatever becomes of
// the others; nil if there is none.
func (g *Graph) Bad(id object.ID) *knv.Error { return g.bad[id] }

// Together says whether two objects need each other, so that neither is the first.
func (g *Graph) Together(a, b object.ID) bool {
	return g.cycle[a] != 0 && g.cycle[a] == g.cycle[b]
}

// findCycles reports each set of objects that need each other.
func (g *Graph) findCycles(ids []object.ID, byID map[object.ID]Node) []*knv.Error {
	var errs []*knv.Error
	for _, set := range g.components(ids) {
		slices.SortFunc(set, object.ID.Compare)
		for _, id := range set {
			g.cycle[id] = len(errs) + 1
		}
		var text strings.Builder
		text.WriteString("cyclic dependency:")
		err := &knv.Error{Code: knv.Applier}
		for _, id := range set {
			for _, on := range g.needs[id] {
				if g.Together(id, on) {
					text.WriteString("\n- " + Reference(id) + " -> " + Reference(on))
				}
			}
			g.bad[id] = err
			err.Resources = append(err.Resources, byID[id].About)
		}
		err.Text = text.String()
		errs = append(errs, err)
	}
	return errs
}
