// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// declarers are the oldest first: "old+" may write the object, "old-" may not, and "old?" has no answer.
		declarers string
		who       Sync
		want      Standing
		// asked are those whose right was asked for.
		asked string
	}{
		{"nobody declares it", "", "a", Standing{}, ""},
		{"one declares it alone, and nothing is asked", "a-", "a", Standing{Owner: "a"}, ""},
		{"the older owns what two declare", "a+ b+", "b", Standing{Owner: "a"}, "a"},
		{"and the right of the younger does not matter", "a+ b?", "a", Standing{Owner: "a"}, "a"},
		{"an older one without the right has no claim", "a- b+", "a", Standing{Owner: "b", Lacks: true}, "a b"},
		{"and does not block the younger", "a- b+", "b", Standing{Owner: "b"}, "a b"},
		{"the third owns it if the first two may not", "a- b- c+", "b", Standing{Owner: "c", Lacks: true}, "a b c"},
		{"nobody owns it if none may", "a- b-", "b", Standing{Lacks: true}, "a b"},
		{"it is open until the oldest has an answer", "a? b+", "b", Standing{Open: true}, "a"},
		{"it is open until the next has one", "a- b?", "a", Standing{Lacks: true, Open: true}, "a b"},
		{"what one has and another declares is the other's if that may", "b+", "a", Standing{Owner: "b"}, "b"},
		{"else it stays nobody's", "b-", "a", Standing{}, "b"},
		{"and is open until it is known", "b?", "a", Standing{Open: true}, "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var list []Sync
			rights := map[Sync]Right{}
			for one := range strings.FieldsSeq(tt.declarers) {
				sync := Sync(one[:len(one)-1])
				list = append(list, sync)
				rights[sync] = map[string]Right{"+": Granted, "-": Missing, "?": Unknown}[one[len(one)-1:]]
			}
			var asked []string
			got := Stand(tt.who, list, func(s Sync) Right {
				asked = append(asked, string(s))
				return rights[s]
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.asked, strings.Join(asked, " ")); diff != "" {
				t.Errorf("asked (-want +got)\n%s", diff)
			}
		})
	}
}

// Answers come in any order: a contest is open or has the result that it has with all of them, and all RootSyncs agree.
func TestStand_isTheSameForEveryOrderOfAnswers(t *testing.T) {
	t.Parallel()
	list := []Sync{"a", "b", "c"}
	for n := range 8 {
		rights := map[Sync]Right{}
		for i, s := range list {
			rights[s] = Right(n >> i & 1)
		}
		for _, order := range permutations(list) {
			t.Run(fmt.Sprintf("%v in the order %v", rights, order), func(t *testing.T) {
				t.Parallel()
				want := Stand("a", list, func(s Sync) Right { return rights[s] }).Owner
				for known := range len(order) + 1 {
					may := func(s Sync) Right {
						if slices.Contains(order[:known], s) {
							return rights[s]
						}
						return Unknown
					}
					var owners []Sync
					for _, who := range list {
						got := Stand(who, list, may)
						if got.Open && known == len(order) || !got.Open && got.Owner != want || got.Lacks && rights[who] != Missing {
							t.Errorf("%s after %d answers: %+v, want %q", who, known, got, want)
						}
						owners = append(owners, got.Owner)
					}
					if len(slices.Compact(owners)) > 1 {
						t.Errorf("after %d answers they do not agree: %v", known, owners)
					}
				}
			})
		}
	}
}

func permutations(list []Sync) [][]Sync {
	if len(list) == 0 {
		return [][]Sync{nil}
	}
	var out [][]Sync
	for i := range list {
		for _, p := range permutations(slices.Concat(list[:i], list[i+1:])) {
			out = append(out, append([]Sync{list[i]}, p...))
		}
	}
	return out
}

// As k8s.io/apiserver's RequestInfo has it.
func TestRightNamespace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		resource   schema.GroupResource
		namespace  string
	}{
		{"a Namespace is patched in itself", "x", schema.GroupResource{Resource: "namespaces"}, ""},
		{"an object in its namespace", "shop", schema.GroupResource{Resource: "configmaps"}, "shop"},
		{"an object without one in none", "", schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, ""},
		{"another kind of that name", "", schema.GroupResource{Group: "example.org", Resource: "namespaces"}, ""},
	} {
		if got := RightNamespace(tt.resource, tt.namespace, "x"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReach_Covers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                   string
		reach                  Reach
		shop, other, noneAtAll bool
	}{
		{name: "no roles are cluster-admin", reach: Reach{Admin: true}, shop: true, other: true, noneAtAll: true},
		{name: "a role in the whole cluster", reach: Reach{Everywhere: true}, shop: true, other: true, noneAtAll: true},
		{name: "a role in a namespace", reach: Reach{In: []string{"shop"}}, shop: true},
		{name: "nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for namespace, want := range map[string]bool{"shop": tt.shop, "other": tt.other, "": tt.noneAtAll} {
				if got := tt.reach.Covers(namespace); got != want {
					t.Errorf("%q: %t, want %t", namespace, got, want)
				}
			}
		})
	}
}
