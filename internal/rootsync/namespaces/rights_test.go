// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// rightsOf reads "a lacks, x open"; all others may. After a "|" it says the same of what is in the namespace.
func rightsOf(t *testing.T, text string) Rights {
	t.Helper()
	read := func(text string) func(object.Sync) object.Right {
		out := map[object.Sync]object.Right{}
		for one := range strings.SplitSeq(text, ",") {
			if f := strings.Fields(one); len(f) == 2 {
				out[object.Sync(f[0])] = map[string]object.Right{"lacks": object.Missing, "open": object.Unknown}[f[1]]
			}
		}
		return func(s object.Sync) object.Right { return out[s] }
	}
	itself, inside, _ := strings.Cut(text, "|")
	return Rights{Namespace: read(itself), Inside: read(inside)}
}

func TestJudge_byRights(t *testing.T) {
	t.Parallel()
	const none = "none"
	tests := []struct {
		name, live, stakes, rights string
		want                       string
		claims                     string // that are to be written
	}{
		{"an older one that may not: the younger has it", "nothing", "a declares 1, b declares 2", "a lacks", "a waits, b owns", ""},
		{"and keeps what it has, without a write", "declared-by b", "a declares 1, b declares 2", "a lacks", "a uses, b owns", ""},
		{"a younger one that may not", "declared-by a", "a declares 1, b declares 2", "b lacks", "a owns, b uses", ""},
		{"nobody may", "nothing", "a declares 1, b declares 2", "a lacks, b lacks", "a waits, b waits", ""},
		{"one alone that may not tries it", "nothing", "a declares 1", "a lacks", "a owns", ""},
		{"one alone that may not claims nothing that was there", "there", "a declares 1", "a lacks", "a uses", ""},
		{"nor what another tool has", "flux", "a declares 1", "a lacks", "a uses", ""},
		{"nor what another RootSync has made", "of x", "a declares 1, x makes 2", "a lacks", "a uses, x owns", ""},
		{"who has made it keeps it without the right", "of x", "a declares 1, x makes 2", "a lacks, x lacks", "a uses, x owns", ""},
		{"of those that make it the oldest that may does", "nothing", "x makes 1, y makes 2", "x lacks", "x waits, y owns", ""},
		{"one that makes it and may not claims nothing", "declared-by a", "a declares 2, x makes 1", "x lacks", "a owns, x uses", ""},

		{"a claim of the first version is taken back", "there | found; declared a 1", "a declares 1", "a lacks", "a uses, writes", none},
		{"and what another has claimed stays", "declared-by b flux | declared a 1; declared b 2", "a declares 1, b declares 2", "a lacks", "a uses, b uses, writes", ""},
		{"a right that is gained counts as ever", "declared-by b", "a declares 1, b declares 2", "", "a uses, b conflicts, writes", "declared a 1; declared b 2"},
		{"the owner has lost its right", "declared-by a | declared a 1; declared b 2", "a declares 1, b declares 2", "a lacks", "a uses, b uses, writes", "declared b 2"},
		{"and the next one takes it over", "declared-by a | declared b 2", "a declares 1, b declares 2", "a lacks", "a uses, b owns", ""},

		{"nobody makes it while the right of the oldest is not known", "nothing", "a declares 1, b declares 2", "a open", "a waits, b waits", ""},
		{"nobody takes it over while the right of the oldest is not known", "declared-by b", "a declares 1, b declares 2", "a open", "a uses, b uses", ""},
		{"the right of a younger one decides nothing", "declared-by a", "a declares 1, b declares 2", "b open", "a owns, b conflicts", ""},
		{"a claim stays while the right is not known", "declared-by a | declared a 1; declared b 2", "a declares 1, b declares 2", "a open", "a uses, b uses", ""},
		{"a claim is not written while the right is not known", "there", "a declares 1, x needs 2", "a open", "a uses, x uses", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := stakes(t, tt.stakes)
			r, err := Judge(namespace(t, tt.live), all, rightsOf(t, tt.rights), epoch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, said(r, all)); diff != "" {
				t.Errorf("%s\n%s", diff, r.Why)
			}
			if tt.claims == "" || r.Write == nil {
				return
			}
			want := ""
			if tt.claims != none {
				want = binds + written(tt.claims)
			}
			if diff := cmp.Diff(want, r.Write.Annotation); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJudge_asksForRightsOnlyWhereTheyMatter(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, live, stakes, asked string }{
		{"one makes it", "nothing", "a declares 1", ""},
		{"one makes it, and another needs it", "nothing", "a declares 1, y needs 2", ""},
		{"one has it", "declared-by a", "a declares 1", ""},
		{"one has it, and another needs it", "declared-by a", "a declares 1, y needs 2", ""},
		{"one has made it, and another would", "of x", "x makes 1, y makes 2", ""},
		{"it was there, and is used", "there", "x makes 1", ""},
		{"it was there, and is declared", "there", "a declares 1", "a"},
		{"two declare it", "declared-by a", "a declares 1, b declares 2", "a b"},
		{"two make it, and the older may", "nothing", "x makes 1, y makes 2", "x"},
		{"a claim is written", "declared-by a | declared a 1", "a declares 1", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			_, err := Judge(namespace(t, tt.live), stakes(t, tt.stakes), Rights{Namespace: func(s object.Sync) object.Right {
				asked = append(asked, string(s))
				return object.Granted
			}}, epoch)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(asked)
			if diff := cmp.Diff(tt.asked, strings.Join(slices.Compact(asked), " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFateOf_byRights(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, live, stakes, rights string
		want                       Fate
		users                      []string
		open                       bool
	}{
		{"who may write nothing there uses nothing", "declared-by a", "y needs 2, x needs 1", "| x lacks", Keep, []string{"RootSync y"}, false},
		{"and keeps nothing from going", "declared-by a", "y needs 2, x makes 1", "x lacks | x lacks, y lacks", Prune, nil, false},
		{"it is not known whether anybody uses it", "declared-by a", "y needs 2, x needs 1", "| x lacks, y open", Keep, nil, true},
		{"it is known that somebody uses it", "declared-by a", "y needs 2, x needs 1", "| x open", Keep, []string{"RootSync y"}, false},
		{"who declares it and may not is not the heir", "declared-by a | declared a 1; declared b 2", "b declares 2", "b lacks | b lacks", Prune, nil, false},
		{"but may have something there", "declared-by a | declared a 1; declared b 2", "b declares 2", "b lacks", Keep, []string{"RootSync b"}, false},
		{"it is not known who the heir is", "declared-by a | declared a 1; declared b 2", "b declares 2", "b open", Keep, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Judge(namespace(t, tt.live), stakes(t, tt.stakes), rightsOf(t, tt.rights), epoch)
			if err != nil {
				t.Fatal(err)
			}
			fate, users, open := r.FateOf("a")
			if fate != tt.want || open != tt.open {
				t.Errorf("got %d, open %t, want %d, %t", fate, open, tt.want, tt.open)
			}
			if diff := cmp.Diff(tt.users, users); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// One that is silent keeps what it has claimed, and what it has something in, as long as it may write there.
func TestJudge_whoIsSilentAndMayNot(t *testing.T) {
	t.Parallel()
	o := namespace(t, "declared-by a|declared a 1; declared b 2")
	all := Stakes{"a": {How: Silent, Has: true}, "b": {How: Declares, Since: epoch.AddDate(0, 0, 2)}}
	for rights, want := range map[string]string{"": "a uses, b conflicts", "a open": "a uses, b uses", "a lacks": "a uses, b uses, writes"} {
		r, err := Judge(o, all, rightsOf(t, rights), epoch)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Replace(said(r, all), "a owns", "a uses", 1)); diff != "" {
			t.Errorf("%q: %s", rights, diff)
		}
	}
	for rights, want := range map[string]Fate{"": Keep, "| a lacks": Prune} {
		r, err := Judge(namespace(t, "declared-by c"), Stakes{"a": {How: Silent, Has: true}}, rightsOf(t, rights), epoch)
		if err != nil {
			t.Fatal(err)
		}
		if fate, users, _ := r.FateOf("c"); fate != want {
			t.Errorf("%q: %d, used by %v", rights, fate, users)
		}
	}
}

func TestRuling_standing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, live, stakes, rights string
		want                       object.Standing // of a
		unmade                     bool
	}{
		{"it may", "nothing", "a declares 1, b declares 2", "", object.Standing{Owner: "a"}, false},
		{"it may not", "nothing", "a declares 1, b declares 2", "a lacks", object.Standing{Owner: "b", Lacks: true}, false},
		{"it may not, and makes it along the way", "nothing", "a makes 1, b declares 2", "a lacks", object.Standing{Owner: "b"}, false},
		{"nobody may make it along the way", "nothing", "a makes 1, b makes 2", "a lacks, b lacks", object.Standing{}, true},
		{"nobody knows", "nothing", "a makes 1, b makes 2", "a open", object.Standing{Open: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Judge(namespace(t, tt.live), stakes(t, tt.stakes), rightsOf(t, tt.rights), epoch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.Standing("a")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if r.Unmade("a") != tt.unmade {
				t.Errorf("unmade: %t", r.Unmade("a"))
			}
		})
	}
	r, err := Judge(namespace(t, "nothing"), stakes(t, "a declares 1, b declares 2"), rightsOf(t, "a lacks"), epoch)
	if diff := cmp.Diff([]object.Sync(nil), r.Rivals("b")); diff != "" || err != nil {
		t.Errorf("%v: who may not is a rival: %s", err, diff)
	}
}

// RootSyncs and answers come in every order: it ends as when all were there and known from the beginning, and nobody
// applies the Namespace who may not.
func TestJudge_isTheSameForEveryOrderOfAnswers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 1))
	syncs := []object.Sync{"a", "b", "x"}
	want := Stakes{"a": {How: Declares, Since: epoch.AddDate(0, 0, 2)}, "b": {How: Declares, Since: epoch.AddDate(0, 0, 1)}, "x": {How: Makes, Since: epoch}}
	for n := range 8 {
		truth := map[object.Sync]object.Right{}
		for i, s := range syncs {
			truth[s] = object.Right(n >> i & 1)
		}
		reference := &model{t: t, stakes: want, truth: truth, answered: map[object.Sync]bool{"a": true, "b": true, "x": true}}
		reference.settle(random)
		for _, order := range permutations(syncs) {
			t.Run(fmt.Sprintf("%v, order %v", truth, order), func(t *testing.T) {
				for range 5 {
					m := &model{t: t, stakes: Stakes{}, truth: truth, answered: map[object.Sync]bool{}}
					for _, s := range order {
						m.stakes[s] = want[s]
						if random.IntN(2) == 0 { // or else it comes together with the next
							m.settle(random)
						}
					}
					m.settle(random)
					if diff := cmp.Diff(reference.text(), m.text()); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
					// The next one has it when the owner loses its right, and the same one when it has it back.
					owner := m.owner()
					if owner == "" || truth[owner] == object.Missing {
						continue
					}
					m.loses(owner)
					m.settle(random)
					if m.owner() == owner && slices.ContainsFunc(syncs, func(s object.Sync) bool { return m.truth[s] == object.Granted && m.stakes[s].How == Declares }) {
						t.Errorf("%s has it without the right", owner)
					}
					m.truth, m.answered = truth, map[object.Sync]bool{}
					m.settle(random)
					if diff := cmp.Diff(reference.text(), m.text()); diff != "" {
						t.Errorf("after a right was lost and found (-want +got)\n%s", diff)
					}
				}
			})
		}
	}
}

// may is the answer that a model has for a RootSync.
func (m *model) may(sync object.Sync) object.Right {
	if m.answered == nil || m.answered[sync] {
		return m.truth[sync]
	}
	m.asked = append(m.asked, sync)
	return object.Unknown
}

// loses takes the right away from a RootSync, which becomes known later.
func (m *model) loses(sync object.Sync) {
	truth := map[object.Sync]object.Right{sync: object.Missing}
	for s, r := range m.truth {
		if s != sync {
			truth[s] = r
		}
	}
	m.truth, m.answered = truth, map[object.Sync]bool{}
}

func (m *model) owner() object.Sync {
	if m.live == nil {
		return ""
	}
	sync, _ := object.SyncOf(m.live.Annotations[object.AnnotationManager])
	return sync
}

// text is what stands on the namespace.
func (m *model) text() string {
	if m.live == nil {
		return "none"
	}
	return fmt.Sprintf("%s %q %s", m.owner(), m.live.Annotations[object.AnnotationSourcePath], m.live.Annotations[v1alpha1.ClaimsAnnotation])
}
