// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	claims   = schema.GroupResource{Resource: "persistentvolumeclaims"}
	volumes  = schema.GroupResource{Resource: "persistentvolumes"}
	stateful = schema.GroupResource{Group: "apps", Resource: "statefulsets"}
)

// of makes an object whose UID is its name, from "namespace/name", its owners, the claim of a volume as
// "namespace/name", and "!" where it is protected.
func of(r schema.GroupResource, words ...string) Object {
	o := Object{Ref: Ref{Resource: r}}
	o.Namespace, o.Name, _ = strings.Cut(words[0], "/")
	o.UID = types.UID(o.Name)
	for _, w := range words[1:] {
		switch namespace, name, bound := strings.Cut(w, "/"); {
		case w == "!":
			o.Protected = true
		case bound:
			o.Claim = &Claim{Namespace: namespace, Name: name, UID: types.UID(name)}
		default:
			o.Owners = append(o.Owners, types.UID(w))
		}
	}
	return o
}

func index(objects ...Object) *Index {
	x := NewIndex()
	for _, o := range objects {
		x.Put(o)
	}
	return x
}

func TestIndex_holdings(t *testing.T) {
	t.Parallel()
	x := index(
		of(stateful, "shop/db"),
		of(claims, "shop/b", "db", "!"), of(claims, "shop/a", "db", "!"), of(claims, "shop/open", "db"),
		of(claims, "other/c", "!"), of(stateful, "shop/web", "!"), of(volumes, "/volume", "shop/open", "!"),
		of(claims, "shop/blocker", "node", "!"), of(volumes, "/of-node", "node", "!"),
	)
	tests := []struct {
		name string
		got  Holding
		want string
	}{
		{name: "a namespace holds what is protected in it, and the volumes of its claims", got: x.InNamespace("shop"), want: "5 protected objects: persistentvolumes/volume, persistentvolumeclaims/a, persistentvolumeclaims/b and 2 more"},
		{name: "a namespace with nothing protected holds nothing", got: x.InNamespace("empty"), want: "0 protected objects: "},
		{name: "no namespace holds what has none", got: x.InNamespace(""), want: "0 protected objects: "},
		{name: "a kind holds its objects everywhere", got: x.OfResource(claims), want: "4 protected objects: other/persistentvolumeclaims/c, persistentvolumeclaims/a, persistentvolumeclaims/b and 1 more"},
		{name: "another kind holds its own", got: x.OfResource(stateful), want: "1 protected object: statefulsets.apps/web"},
		{name: "an owner holds what it owns, and what that owns", got: x.Below("db", "shop"), want: "3 protected objects: persistentvolumes/volume, persistentvolumeclaims/a, persistentvolumeclaims/b"},
		{name: "a claim holds its volume", got: x.Below("open", "shop"), want: "1 protected object: persistentvolumes/volume"},
		{name: "an owner in another namespace holds nothing", got: x.Below("db", "other"), want: "0 protected objects: "},
		{name: "an owner without a namespace holds what has none either", got: x.Below("node", ""), want: "1 protected object: persistentvolumes/of-node"},
		{name: "what owns nothing holds nothing", got: x.Below("web", "shop"), want: "0 protected objects: "},
		{name: "what is not known holds nothing", got: x.Below("nobody", "shop"), want: "0 protected objects: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.got.Describe("shop")); diff != "" {
				t.Errorf("holding (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHolding_describe(t *testing.T) {
	t.Parallel()
	ref := func(namespace, name string) Ref { return Ref{Resource: claims, Namespace: namespace, Name: name} }
	secret := func(namespace, name string) Ref { return Ref{Resource: secrets, Namespace: namespace, Name: name} }
	role := func(name string) Ref {
		return Ref{Resource: schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"}, Namespace: "shop", Name: name}
	}
	tests := []struct {
		name string
		refs []Ref
		want string
	}{
		{name: "nothing", want: "0 protected objects: "},
		{name: "one", refs: []Ref{ref("shop", "a")}, want: "1 protected object: persistentvolumeclaims/a"},
		{name: "another place is named", refs: []Ref{ref("other", "a")}, want: "1 protected object: other/persistentvolumeclaims/a"},
		{name: "three are named in order", refs: []Ref{ref("shop", "c"), ref("shop", "a"), ref("", "b")}, want: "3 protected objects: persistentvolumeclaims/b, persistentvolumeclaims/a, persistentvolumeclaims/c"},
		{name: "the first three of more", refs: []Ref{ref("shop", "d"), ref("shop", "c"), ref("shop", "b"), ref("shop", "a"), ref("shop", "e")}, want: "5 protected objects: persistentvolumeclaims/a, persistentvolumeclaims/b, persistentvolumeclaims/c and 2 more"},
		{name: "a Secret is not named", refs: []Ref{secret("shop", "root-password")}, want: "1 protected object: secrets/…"},
		{name: "Secrets are counted", refs: []Ref{secret("shop", "a"), secret("shop", "b"), ref("shop", "c")}, want: "3 protected objects: persistentvolumeclaims/c, secrets/… and 1 more"},
		{name: "a Secret in another place is not named either", refs: []Ref{secret("other", "a")}, want: "1 protected object: other/secrets/…"},
		{name: "a name is one word in one line", refs: []Ref{role("x;id #"), role("a\nb")}, want: `2 protected objects: roles.rbac.authorization.k8s.io/$'a\nb', roles.rbac.authorization.k8s.io/'x;id #'`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, NewHolding(tt.refs).Describe("shop")); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIndex_circles(t *testing.T) {
	t.Parallel()
	x := index(of(stateful, "s/a", "c", "!"), of(stateful, "s/b", "a", "!"), of(stateful, "s/c", "b", "b"), of(stateful, "s/self", "self", "!"))
	for uid, want := range map[types.UID]int{"a": 1, "b": 1, "c": 2, "self": 0} {
		if got := x.Below(uid, "s").Count; got != want {
			t.Errorf("below %s: got %d, want %d", uid, got, want)
		}
	}
	for uid, want := range map[types.UID][]types.UID{"a": {"c", "b"}, "self": nil} {
		if diff := cmp.Diff(want, x.Ancestors(uid)); diff != "" {
			t.Errorf("above %s (-want +got):\n%s", uid, diff)
		}
	}
}

func TestIndex_ancestors(t *testing.T) {
	t.Parallel()
	x := index(of(stateful, "s/top"), of(stateful, "s/left", "top"), of(stateful, "s/right", "top", "unknown"), of(claims, "s/data", "left", "right", "!"))
	if diff := cmp.Diff([]types.UID{"left", "right", "top", "unknown"}, x.Ancestors("data")); diff != "" {
		t.Errorf("above data, each once (-want +got):\n%s", diff)
	}
	if got := x.Ancestors("nobody"); len(got) > 0 {
		t.Errorf("above what is not known: got %v", got)
	}
	if got := x.Below("unknown", "s").Count; got != 1 {
		t.Errorf("an owner that is not known itself holds %d, want 1", got)
	}
}

func TestIndex_whatIsPutAgainIsReplaced(t *testing.T) {
	t.Parallel()
	x := index(of(claims, "shop/a", "db", "!"))
	x.Put(of(claims, "shop/a", "web", "!"))
	if got := []int{x.Below("db", "shop").Count, x.Below("web", "shop").Count, x.InNamespace("shop").Count, x.Len()}; !slices.Equal(got, []int{0, 1, 1, 1}) {
		t.Errorf("another owner: got %v", got)
	}
	x.Put(of(claims, "shop/a", "web"))
	if got := []int{x.Below("web", "shop").Count, x.InNamespace("shop").Count, x.OfResource(claims).Count}; !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("not protected any more: got %v", got)
	}
	if o, ok := x.Get("a"); !ok || o.Protected {
		t.Errorf("got %v, %t", o, ok)
	}
	x.Delete("a")
	x.Delete("a")
	if x.Len()+len(x.objects)+len(x.children)+len(x.inNamespace)+len(x.ofResource) > 0 {
		t.Errorf("left behind: %+v", x)
	}
}

// naive is what an Index should say, worked out from all objects each time.
type naive map[types.UID]Object

func (n naive) holding(counts func(Object) bool) Holding {
	var refs []Ref
	for _, o := range n {
		if o.Protected && counts(o) {
			refs = append(refs, o.Ref)
		}
	}
	return NewHolding(refs)
}

// owns says whether an owner is above an object. What is on the way is known.
func (n naive) owns(owner, uid types.UID, way []types.UID) bool {
	o, ok := n[uid]
	if !ok || slices.Contains(way, uid) {
		return false
	}
	return slices.ContainsFunc(o.above(), func(next types.UID) bool { return next == owner || n.owns(owner, next, append(way, uid)) })
}

// below is owns where each owner is in the namespace of what it owns.
func (n naive) below(owner types.UID, namespace string, uid types.UID, way []types.UID) bool {
	o, ok := n[uid]
	if !ok || slices.Contains(way, uid) {
		return false
	}
	return slices.ContainsFunc(o.above(), func(next types.UID) bool {
		ofClaim := o.Claim != nil && o.Claim.UID == next
		if next == owner {
			return o.Namespace == namespace || ofClaim
		}
		parent, known := n[next]
		return known && (o.Namespace == parent.Namespace || ofClaim) && n.below(owner, namespace, next, append(way, uid))
	})
}

// FuzzIndex puts and deletes objects at random, circles included.
func FuzzIndex(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		random := rand.New(rand.NewPCG(a, b))
		x, n := NewIndex(), naive{}
		uids := []types.UID{"a", "b", "c", "d", "e", "f"}
		namespaces := []string{"", "shop", "other"}
		for step := range 40 {
			uid := uids[random.IntN(len(uids))]
			if random.IntN(4) == 0 {
				x.Delete(uid)
				delete(n, uid)
			} else {
				o := Object{Ref: Ref{
					Resource: []schema.GroupResource{claims, stateful}[random.IntN(2)], Namespace: namespaces[random.IntN(3)], Name: string(uid),
				}, UID: uid, Protected: random.IntN(2) == 0}
				for range random.IntN(3) {
					o.Owners = append(o.Owners, uids[random.IntN(len(uids))])
				}
				if o.Namespace == "" && random.IntN(2) == 0 {
					o.Claim = &Claim{Namespace: namespaces[1+random.IntN(2)], UID: uids[random.IntN(len(uids))]}
				}
				x.Put(o)
				n[uid] = o
			}
			expect := func(what string, want, got Holding) {
				t.Helper()
				if want.Describe("") != got.Describe("") {
					t.Fatalf("step %d, %s: got %v, want %v\n%v", step, what, got, want, n)
				}
			}
			for _, ns := range namespaces[1:] {
				expect("in "+ns, n.holding(func(o Object) bool { return o.Namespace == ns || o.Claim != nil && o.Claim.Namespace == ns }), x.InNamespace(ns))
			}
			for _, r := range []schema.GroupResource{claims, stateful} {
				expect("of "+r.String(), n.holding(func(o Object) bool { return o.Resource == r }), x.OfResource(r))
			}
			for _, owner := range uids {
				place := n[owner].Namespace
				expect("below "+string(owner), n.holding(func(o Object) bool { return o.UID != owner && n.below(owner, place, o.UID, nil) }), x.Below(owner, place))
				var above []string
				for _, other := range uids {
					if other != owner && n.owns(other, owner, nil) {
						above = append(above, string(other))
					}
				}
				if got := texts(x.Ancestors(owner)); !slices.Equal(got, above) {
					t.Fatalf("step %d, above %s: got %v, want %v\n%v", step, owner, got, above, n)
				}
			}
		}
	})
}

func texts(uids []types.UID) []string {
	var out []string
	for _, uid := range uids {
		out = append(out, fmt.Sprint(uid))
	}
	slices.Sort(out)
	return out
}
