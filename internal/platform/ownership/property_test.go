// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// server keeps one Namespace as the API server does: a write to a version that is
// not the last one is a conflict.
type server struct {
	o      metav1.ObjectMeta
	writes int
}

func (s *server) read() *metav1.ObjectMeta { return s.o.DeepCopy() }

func (s *server) write(seen *metav1.ObjectMeta, w *ownership.Write) (ok bool) {
	if seen.ResourceVersion != s.o.ResourceVersion {
		return false
	}
	s.writes++
	s.o.ResourceVersion = strconv.Itoa(s.writes)
	if w.Annotation == "" {
		delete(s.o.Annotations, v1alpha1.ClaimsAnnotation)
	} else {
		s.o.Annotations[v1alpha1.ClaimsAnnotation] = w.Annotation
	}
	return true
}

// toggle puts labels on, or takes them off.
func (s *server) toggle(labels map[string]string) {
	s.writes++
	s.o.ResourceVersion = strconv.Itoa(s.writes)
	next := maps.Clone(s.o.Labels)
	for k, v := range labels {
		if _, there := s.o.Labels[k]; there {
			delete(next, k)
		} else {
			next[k] = v
		}
	}
	s.o.Labels = next
}

// actor is one claimant, which wants to claim or not to.
type actor struct {
	ownership.Claim
	wants bool
	// seen is what it read and has not acted on yet.
	seen *metav1.ObjectMeta
}

func (a *actor) change() ownership.Change {
	if a.wants {
		return ownership.Change{Claim: []ownership.Claim{a.Claim}}
	}
	return ownership.Change{Release: []string{a.Claimant}}
}

// step reads, or acts on what was read before; false if there was nothing to do.
func (a *actor) step(t *testing.T, s *server) (did bool) {
	t.Helper()
	if a.seen == nil {
		a.seen = s.read()
		return true
	}
	w, err := ownership.Rewrite(a.seen, a.change(), day(15))
	if err != nil {
		t.Fatal(err)
	}
	if w != nil {
		s.write(a.seen, w)
	}
	a.seen = nil
	return w != nil
}

// settle lets all act until nobody has anything to do, in the order of the list,
// and fails if that never comes.
func settle(t *testing.T, s *server, actors []*actor) {
	t.Helper()
	for range 20 {
		busy := false
		for _, a := range actors {
			a.seen = nil
			a.step(t, s)
			busy = a.step(t, s) || busy
		}
		if !busy {
			return
		}
	}
	t.Fatalf("they write without end: %s", s.o.Annotations[v1alpha1.ClaimsAnnotation])
}

func rootSyncs() []*actor {
	return []*actor{
		{Claim: ownership.At(ownership.Declared, ownership.RootSync("s", "a"), day(3)), wants: true},
		{Claim: ownership.At(ownership.Declared, ownership.RootSync("s", "b"), day(2)), wants: true},
		{Claim: ownership.At(ownership.Implicit, ownership.RootSync("s", "x"), day(1)), wants: true},
		{Claim: ownership.At(ownership.Implicit, ownership.RootSync("s", "y"), day(1)), wants: true},
	}
}

// beginnings are the ways in which a namespace can have come to be.
func beginnings() map[string]*metav1.ObjectMeta {
	actors := rootSyncs()
	return map[string]*metav1.ObjectMeta{
		"made by hand":                      namespace("", ""),
		"made by an anchor":                 namespace("acme", ""),
		"made by Flux":                      namespace("flux", ""),
		"made by Config Sync":               namespace("declares", ""),
		"made along the way by Config Sync": namespace("uses acme", ""),
		"made by a":                         namespace("", ownership.New(actors[0].Claim).String()),
		"made along the way by x":           namespace("flux", ownership.New(actors[2].Claim).String()),
	}
}

// permutations of the numbers below n.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

// TestOwner_isTheSameForEveryOrder lets RootSyncs come in every order, once all of
// them and once a part, and asks each time whose the namespace is.
func TestOwner_isTheSameForEveryOrder(t *testing.T) {
	t.Parallel()
	for beginning, o := range beginnings() {
		for part := range 1 << len(rootSyncs()) {
			want := ""
			for _, p := range permutations(len(rootSyncs())) {
				s, all := &server{o: *o.DeepCopy()}, rootSyncs()
				var came []*actor
				for _, i := range p {
					if part&(1<<i) != 0 {
						came = append(came, all[i])
					}
				}
				settle(t, s, came)
				got := s.o.Annotations[v1alpha1.ClaimsAnnotation] + " | " + verdict(t, s)
				if want == "" {
					want = got
				}
				if got != want {
					t.Fatalf("%s, in the order %v:\n got %s\nwant %s", beginning, p, got, want)
				}
				if s.writes > 2*len(came) {
					t.Errorf("%s, in the order %v: %d writes for %d claims", beginning, p, s.writes, len(came))
				}
			}
		}
	}
}

func verdict(t *testing.T, s *server) string {
	t.Helper()
	v, err := ownership.Decide(&s.o)
	if err != nil {
		t.Fatal(err)
	}
	return order(v)
}

// TestRewrite_atTheSameMoment lets claimants read, claim and give up in any
// interleaving, with marks that come and go below them. In the end the namespace
// says what those who still want to claim would have written one after the other.
func TestRewrite_atTheSameMoment(t *testing.T) {
	t.Parallel()
	conflicts := 0
	for seed := range uint64(100) {
		dice := rand.New(rand.NewPCG(seed, 5))
		for beginning, o := range beginnings() {
			s, actors := &server{o: *o.DeepCopy()}, rootSyncs()
			settle(t, s, actors[:1]) // one claims from begin to end, or it would be nobody's for a while
			for range 40 {
				a := actors[dice.IntN(len(actors))]
				if a != actors[0] && dice.IntN(4) == 0 {
					a.wants = !a.wants
				}
				if dice.IntN(8) == 0 {
					s.toggle(markLabels["flux"])
				}
				before := s.writes
				if a.step(t, s) && a.seen == nil && s.writes == before {
					conflicts++
				}
			}
			wants := slices.DeleteFunc(slices.Clone(actors), func(a *actor) bool { return !a.wants })
			s.o.Labels = o.Labels
			settle(t, s, actors)
			fresh := &server{o: *o.DeepCopy()}
			settle(t, fresh, wants)
			settle(t, fresh, actors)
			if got, want := verdict(t, s), verdict(t, fresh); got != want {
				t.Fatalf("seed %d, %s:\n got %s: %s\nwant %s: %s", seed, beginning, got, s.o.Annotations[v1alpha1.ClaimsAnnotation], want, fresh.o.Annotations[v1alpha1.ClaimsAnnotation])
			}
			if n := strings.Count(s.o.Annotations[v1alpha1.ClaimsAnnotation], "rootsync/s/"); n > len(wants) {
				t.Fatalf("seed %d, %s: %d claims of %d", seed, beginning, n, len(wants))
			}
		}
	}
	if conflicts == 0 {
		t.Error("nobody ever wrote at the same moment as another")
	}
}
