// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

func TestFights_whatIsLeftAlone(t *testing.T) {
	t.Parallel()
	account := types.NamespacedName{Namespace: "a", Name: "x"}
	tier := func(to string) plan.Change {
		return plan.Change{Key: plan.Key{Field: plan.Label, Name: "tier"}, Kind: plan.Changed, To: to}
	}
	making := plan.Change{Key: whole, Kind: plan.Changed, To: string(plan.Create)}
	for _, tt := range []struct {
		name string
		// uids are those of the accounts that are written, every so often, each with a change.
		uids   []types.UID
		every  time.Duration
		change plan.Change
		// then is the change that is looked at, of the account with the UID.
		then plan.Change
		of   types.UID
		want bool
	}{
		{"a key that was set three times", []types.UID{"1", "1", "1"}, time.Second, tier("gold"), tier("gold"), "1", true},
		{"not one that was set twice", []types.UID{"1", "1"}, time.Second, tier("gold"), tier("gold"), "1", false},
		{"not one that was set three times in a day", []types.UID{"1", "1", "1"}, 8 * time.Hour, tier("gold"), tier("gold"), "1", false},
		{"not another value", []types.UID{"1", "1", "1"}, time.Second, tier("gold"), tier("iron"), "1", false},
		{"not that of an account that has been made anew", []types.UID{"1", "1", "1"}, time.Second, tier("gold"), tier("gold"), "2", false},
		{"not that of one that is made anew each time", []types.UID{"1", "2", "3", "4"}, time.Second, tier("gold"), tier("gold"), "4", false},
		{"while there is none it is still that of the last", []types.UID{"1", "1", "1"}, time.Second, tier("gold"), tier("gold"), "", true},
		{
			"an account that had to be made ten times, another one each time", []types.UID{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"},
			time.Second, making, making, "", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			f := newFights(clock)
			for _, uid := range tt.uids {
				f.wrote(account, uid, []plan.Change{tt.change})
				clock.SetTime(clock.Now().Add(tt.every))
			}
			keys, _ := f.givenUp(account, tt.of, []plan.Change{tt.then})
			if got := keys.Has(tt.then.Key); got != tt.want {
				t.Errorf("left alone: %t", got)
			}
		})
	}
}

// People, a test or an installer may make an account and its object anew as often as they like:
// on a new one nobody has set anything.
func TestFight_notOverAnAccountThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {tier: gold}, conflicts: {default: Force}}]
`)
	for round := range most + 2 {
		r.apply(fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s-front, labels: {round: \"%d\"}}\n", round))
		r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: s}\nspec: {n: 1}\n")
		r.becomes("s-front", fmt.Sprintf("round=%d tier=gold", round))
		r.kubectl("delete", "shops."+group, "s", "-n", r.namespace)
		r.kubectl("delete", "serviceaccount", "s-front", "-n", r.namespace)
	}
	if told := r.events("Shop", "s", ReasonFight); len(told) > 0 {
		t.Errorf("a fight is told of: %q", told)
	}
}
