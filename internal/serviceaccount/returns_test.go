// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// applyAs applies labels of an account as somebody else does, by force.
func (r *rig) applyAs(manager, name string, labels map[string]string) {
	r.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	o.SetNamespace(r.namespace)
	o.SetName(name)
	o.SetLabels(labels)
	if err := r.Client.Apply(r.t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		r.t.Fatal(err)
	}
}

// An operator that a template says is gone runs still: Holdfast sees it by what comes
// back after the take-over, and leaves it alone at once.
func TestTakeOver_fromOneThatRunsStill(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	r.applyAs("old-operator", "s-front", map[string]string{"tier": "old", "zone": "1"})
	before := r.account("s-front")
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {tier: new, zone: "1", ours: "1"}, takeOver: [old-operator], conflicts: {default: Force}}]
`)
	r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: s}\nspec: {n: 1}\n")
	taken := 0
	r.Eventually(func() []string {
		if r.account("s-front").Labels["tier"] == "new" {
			taken++
			r.applyAs("old-operator", "s-front", map[string]string{"tier": "old", "zone": "1"})
		}
		return r.events("Shop", "s", ReasonFight)
	}).WithTimeout(patience).WithPolling(often).Should(gomega.ContainElement(gomega.ContainSubstring("old-operator, who has written it again")))
	shared(t).fence("after")
	if taken != 1 {
		t.Errorf("it was taken over %d times, want once", taken)
	}
	if got := r.becomes("s-front", "ours=1 tier=old zone=1"); got.UID != before.UID {
		t.Error("it was made anew")
	}
	r.says(r.namespace, "Conflicts 1/1/0/1/0")
	// Keys that nobody else sets are kept all the same.
	r.kubectl("label", "serviceaccount", "s-front", "-n", r.namespace, "ours-")
	r.becomes("s-front", "ours=1 tier=old zone=1")
}

func TestReturns(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	r := newReturns(clock)
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	from := func(names ...string) map[string]sets.Set[plan.Key] {
		keys := sets.New[plan.Key]()
		for _, n := range names {
			keys.Insert(plan.Key{Field: plan.Label, Name: n})
		}
		return map[string]sets.Set[plan.Key]{"m": keys}
	}
	steps := []struct {
		name    string
		after   time.Duration
		account types.NamespacedName
		took    bool
		keys    []string
		back    bool
		runs    bool
	}{
		{"the first time it is taken over", 0, one, false, []string{"a"}, false, false},
		{"that is remembered", 0, one, true, []string{"a", "b"}, false, false},
		{"another key is another matter", time.Minute, one, false, []string{"c"}, false, false},
		{"another account too", 0, two, false, []string{"a"}, false, false},
		{"one of the keys is back", 0, one, false, []string{"b", "c"}, true, true},
		{"it runs for a while", giveUp - time.Second, one, false, nil, false, true},
		{"and then it may have ended", 2 * time.Second, one, false, []string{"b"}, false, false},
		{"it is taken over again", 0, one, true, []string{"b"}, false, false},
		{"and runs still", time.Minute, one, false, []string{"b"}, true, true},
		{"what is long ago is forgotten", 3 * giveUp, two, true, []string{"x"}, false, false},
	}
	for _, s := range steps {
		clock.SetTime(clock.Now().Add(s.after))
		if s.took {
			r.took(s.account, from(s.keys...))
			continue
		}
		if got := len(r.again(s.account, from(s.keys...))) > 0; got != s.back {
			t.Errorf("%s: back %t, want %t", s.name, got, s.back)
		}
		if m, left := r.running(s.account); len(m) > 0 != s.runs || (left > 0) != s.runs {
			t.Errorf("%s: %v run for %s, want %t", s.name, m, left, s.runs)
		}
	}
	if len(r.accounts) != 1 || r.accounts[two] == nil {
		t.Errorf("it remembers %v", r.accounts)
	}
}
