// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contents is the pure part of protection by consequence: it knows what
// protected objects hang below a namespace, a CustomResourceDefinition, an owner
// or the claim of a volume.
package contents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// Ref names an object.
type Ref struct {
	Resource  schema.GroupResource
	Namespace string
	Name      string
}

// String is how people read it: configmaps/a, in another place shop/configmaps/a.
func (r Ref) String() string { return r.named(text.Word(r.Name)) }

func (r Ref) named(name string) string {
	out := r.Resource.String() + "/" + name
	if r.Namespace != "" {
		out = r.Namespace + "/" + out
	}
	return out
}

var secrets = schema.GroupResource{Resource: "secrets"}

// public is String, without the name of a Secret: a Holding is written on objects that more users may read than may
// list Secrets.
func (r Ref) public() string {
	if r.Resource == secrets {
		return r.named("…")
	}
	return r.String()
}

// Object is one that is protected, or that stands between a protected one and
// its owner.
type Object struct {
	Ref
	UID       types.UID
	Owners    []types.UID
	Protected bool
	// Claim is the one with which a volume is deleted; nil for everything else.
	Claim *Claim
}

// above are the objects with which an object is deleted, but for its namespace and its definition.
func (o Object) above() []types.UID {
	if o.Claim == nil {
		return o.Owners
	}
	return append(slices.Clone(o.Owners), o.Claim.UID)
}

// Index knows what hangs below what. It is not safe for concurrent use.
type Index struct {
	objects     map[types.UID]Object
	children    map[types.UID]sets.Set[types.UID]
	inNamespace map[string]sets.Set[types.UID]
	ofResource  map[schema.GroupResource]sets.Set[types.UID]
}

// NewIndex makes an empty Index.
func NewIndex() *Index {
	return &Index{
		objects:     map[types.UID]Object{},
		children:    map[types.UID]sets.Set[types.UID]{},
		inNamespace: map[string]sets.Set[types.UID]{},
		ofResource:  map[schema.GroupResource]sets.Set[types.UID]{},
	}
}

// Put adds an object or replaces what was known of it.
func (x *Index) Put(o Object) {
	x.Delete(o.UID)
	x.objects[o.UID] = o
	for _, above := range o.above() {
		insert(x.children, above, o.UID)
	}
	if !o.Protected {
		return
	}
	if o.Namespace != "" {
		insert(x.inNamespace, o.Namespace, o.UID)
	}
	if o.Claim != nil {
		insert(x.inNamespace, o.Claim.Namespace, o.UID)
	}
	insert(x.ofResource, o.Resource, o.UID)
}

// Delete forgets an object.
func (x *Index) Delete(uid types.UID) {
	o, ok := x.objects[uid]
	if !ok {
		return
	}
	delete(x.objects, uid)
	for _, above := range o.above() {
		drop(x.children, above, uid)
	}
	drop(x.inNamespace, o.Namespace, uid)
	if o.Claim != nil {
		drop(x.inNamespace, o.Claim.Namespace, uid)
	}
	drop(x.ofResource, o.Resource, uid)
}

// Get returns what is known of an object.
func (x *Index) Get(uid types.UID) (Object, bool) {
	o, ok := x.objects[uid]
	return o, ok
}

// Len is how many objects are known.
func (x *Index) Len() int { return len(x.objects) }

func insert[K comparable](m map[K]sets.Set[types.UID], k K, uid types.UID) {
	if m[k] == nil {
		m[k] = sets.New[types.UID]()
	}
	m[k].Insert(uid)
}

func drop[K comparable](m map[K]sets.Set[types.UID], k K, uid types.UID) {
	m[k].Delete(uid)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}

// Ancestors are the owners above an object, as far as they are known: owners, and
// the owners of those owners that are known themselves. The claim of a volume is one of them.
func (x *Index) Ancestors(uid types.UID) []types.UID {
	seen := sets.New(uid)
	var out []types.UID
	next := slices.Clone(x.objects[uid].above())
	for len(next) > 0 {
		owner := next[0]
		next = next[1:]
		if seen.Has(owner) {
			continue // seen before, or a circle
		}
		seen.Insert(owner)
		out = append(out, owner)
		next = append(next, x.objects[owner].above()...)
	}
	return out
}

// InNamespace are the protected objects in a namespace, and the volumes of claims in it.
func (x *Index) InNamespace(name string) Holding { return x.holding(x.inNamespace[name]) }

// OfResource are the protected objects of a kind.
func (x *Index) OfResource(r schema.GroupResource) Holding { return x.holding(x.ofResource[r]) }

// Below are the protected objects that an owner or what it owns owns, and the volume of a claim. An object counts below
// owners in its own namespace alone, and one without a namespace below those without: the garbage collector heeds no
// owner in another namespace, and a user of a namespace must not hold up an object that has none by naming it as an owner.
func (x *Index) Below(uid types.UID, namespace string) Holding {
	type parent struct {
		uid       types.UID
		namespace string
	}
	seen, below := sets.New(uid), sets.New[types.UID]()
	next := []parent{{uid, namespace}}
	for len(next) > 0 {
		p := next[0]
		next = next[1:]
		for child := range x.children[p.uid] {
			o := x.objects[child]
			ofClaim := o.Claim != nil && o.Claim.UID == p.uid
			if seen.Has(child) || o.Namespace != p.namespace && !ofClaim {
				continue
			}
			seen.Insert(child)
			if o.Protected {
				below.Insert(child)
			}
			next = append(next, parent{child, o.Namespace})
		}
	}
	return x.holding(below)
}

// Holding is what something holds.
type Holding struct {
	Count int
	// First are a few of them, in order.
	First []Ref
}

// few is how many objects a Holding names.
const few = 3

// NewHolding counts objects and keeps the first few. It orders what it is given.
func NewHolding(refs []Ref) Holding {
	slices.SortFunc(refs, compare)
	h := Holding{Count: len(refs), First: refs}
	if len(refs) > few {
		h.First = refs[:few:few]
	}
	return h
}

func (x *Index) holding(of sets.Set[types.UID]) Holding {
	h := Holding{Count: len(of)}
	for uid := range of {
		r := x.objects[uid].Ref
		i, _ := slices.BinarySearchFunc(h.First, r, compare)
		if i >= few {
			continue
		}
		h.First = slices.Insert(h.First, i, r)
		h.First = h.First[:min(len(h.First), few)]
	}
	return h
}

func compare(a, b Ref) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Resource.String(), b.Resource.String()), strings.Compare(a.Name, b.Name))
}

// Describe says what is held, to people, as seen from a namespace: objects in it
// go without its name. Secrets go without theirs.
func (h Holding) Describe(namespace string) string {
	names := make([]string, 0, len(h.First))
	for _, r := range h.First {
		if r.Namespace == namespace {
			r.Namespace = ""
		}
		names = append(names, r.public())
	}
	names = slices.Compact(names)
	list := strings.Join(names, ", ")
	if more := h.Count - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if h.Count == 1 {
		return "1 protected object: " + list
	}
	return fmt.Sprintf("%d protected objects: %s", h.Count, list)
}
