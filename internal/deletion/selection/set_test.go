// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func names(protections []*Protection) []string {
	out := make([]string, 0, len(protections))
	for _, p := range protections {
		out = append(out, p.Name)
	}
	return out
}

func TestSet_followsWhatIsPutReplacedAndDeleted(t *testing.T) {
	t.Parallel()
	s := NewSet()
	a := object("shop/a")
	expect := func(what string, match []string, naming int) {
		t.Helper()
		if diff := cmp.Diff(match, names(s.Match(configMaps, a, nil))); diff != "" {
			t.Errorf("%s: matches (-want +got):\n%s", what, diff)
		}
		if got := len(s.Naming(configMaps)); got != naming || s.Names(configMaps) != (naming > 0) || len(s.Kinds()) != min(naming, 1) {
			t.Errorf("%s: %d protections name the kind, want %d; the kinds are %v", what, got, naming, s.Kinds())
		}
	}
	expect("nothing", []string{}, 0)
	first := protection(t, "two", resource(v1alpha1.ResourceSelector{Name: "a"}), resource(v1alpha1.ResourceSelector{Namespace: "shop"}))
	if before := s.Put(first); before != nil {
		t.Errorf("there was %v before the first", before)
	}
	s.Put(protection(t, "one", resource(v1alpha1.ResourceSelector{Name: "*"})))
	expect("two, in order, each once", []string{"one", "two"}, 2)
	if before := s.Put(protection(t, "two", resource(v1alpha1.ResourceSelector{Name: "b"}))); before != first {
		t.Errorf("replaced: got %v, want the first", before)
	}
	expect("what is replaced does not select", []string{"one"}, 2)
	if s.Get("two") == first || s.Len() != 2 {
		t.Errorf("got %v of %d protections", s.Get("two"), s.Len())
	}
	if got := s.Delete("one"); got == nil || got.Name != "one" {
		t.Errorf("deleted: got %v, want one", got)
	}
	expect("what is deleted does not select", []string{}, 1)
	if got := s.Delete("one"); got != nil {
		t.Errorf("deleted twice: got %v", got)
	}
	s.Delete("two")
	expect("nothing again", []string{}, 0)
	if len(s.all)+len(s.exact)+len(s.wide)+len(s.kinds) > 0 {
		t.Errorf("left behind: %v %v %v %v", s.all, s.exact, s.wide, s.kinds)
	}
}

// randomProtection makes one of few names, kinds and labels, so that most of them
// touch each other.
func randomProtection(t testing.TB, random *rand.Rand) *Protection {
	t.Helper()
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	var resources []v1alpha1.ProtectedResource
	for range 1 + random.IntN(3) {
		var r v1alpha1.ProtectedResource
		for range 1 + random.IntN(3) {
			s := v1alpha1.ResourceSelector{
				APIVersion: pick("v1", "apps/v1"), Kind: pick("ConfigMap", "Secret"), Namespace: pick("", "", "shop", "other"), Name: pick("", "", "a", "b", "*"),
			}
			if random.IntN(3) == 0 {
				s.LabelSelector = matching("app=" + pick("web", "db"))
			}
			if random.IntN(3) == 0 {
				s.NamespaceSelector = matching("env=" + pick("prod", "test"))
			}
			r.ResourceSelector = append(r.ResourceSelector, s)
		}
		for range random.IntN(3) {
			r.ResourceNames = append(r.ResourceNames, pick("a", "b", "c"))
		}
		resources = append(resources, r)
	}
	return protection(t, pick("p", "q", "r", "s"), resources...)
}

// FuzzSet puts and deletes protections at random and asks the Set and all of the
// protections one by one.
func FuzzSet(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		random := rand.New(rand.NewPCG(a, b))
		s, plain := NewSet(), map[string]*Protection{}
		for step := range 30 {
			if random.IntN(3) == 0 {
				name := []string{"p", "q", "r", "s"}[random.IntN(4)]
				if got, want := s.Delete(name), plain[name]; got != want {
					t.Fatalf("step %d: deleted %v, want %v", step, got, want)
				}
				delete(plain, name)
			} else {
				p := randomProtection(t, random)
				if got, want := s.Put(p), plain[p.Name]; got != want {
					t.Fatalf("step %d: replaced %v, want %v", step, got, want)
				}
				plain[p.Name] = p
			}
			compareSets(t, s, plain)
		}
		for name := range plain {
			s.Delete(name)
		}
		if s.Len()+len(s.exact)+len(s.wide)+len(s.kinds) > 0 {
			t.Errorf("left behind: %v %v %v", s.exact, s.wide, s.kinds)
		}
	})
}

func compareSets(t *testing.T, s *Set, plain map[string]*Protection) {
	t.Helper()
	for _, kind := range []schema.GroupKind{{Kind: "ConfigMap"}, {Kind: "Secret"}, {Group: "apps", Kind: "ConfigMap"}, {Kind: "Other"}} {
		var naming []string
		for name, p := range plain {
			if slices.ContainsFunc(p.Selectors, func(sel Selector) bool { return sel.Kind == kind }) {
				naming = append(naming, name)
			}
		}
		got := s.Naming(kind)
		slices.Sort(naming)
		slices.Sort(got)
		if !slices.Equal(naming, got) || s.Names(kind) != (len(naming) > 0) || slices.Contains(s.Kinds(), kind) != (len(naming) > 0) {
			t.Fatalf("%s is named by %v, want %v", kind, got, naming)
		}
		for _, text := range []string{"shop/a", "shop/b app=web", "other/a app=db", "other/c", "/a", "/c app=web"} {
			for _, namespace := range []string{"env=prod", "env=test", "x=y"} {
				o := object(text)
				want := []string{}
				for name, p := range plain {
					if slices.ContainsFunc(p.Selectors, func(sel Selector) bool { return sel.Kind == kind && sel.Matches(o, set(namespace)) }) {
						want = append(want, name)
					}
				}
				slices.Sort(want)
				if got := names(s.Match(kind, o, set(namespace))); !slices.Equal(want, got) {
					t.Fatalf("%s %s in a namespace with %s: got %v, want %v of\n%s", kind, text, namespace, got, want, describe(plain))
				}
			}
		}
	}
}

func describe(plain map[string]*Protection) (text string) {
	for _, p := range plain {
		text += fmt.Sprintf("%+v\n", *p)
	}
	return text
}
