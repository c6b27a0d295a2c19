// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

var sameWants = cmp.Options{cmpopts.EquateErrors(), cmp.AllowUnexported(mapping.Conflicts{}), cmpopts.EquateEmpty()}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// some are any of them.
func some(r *rand.Rand, of ...string) string {
	return strings.Join(slices.DeleteFunc(of, func(string) bool { return r.IntN(3) > 0 }), " ")
}

func randomAccount(r *rand.Rand) *model {
	if r.IntN(5) == 0 {
		return parse("")
	}
	lines := []string{"there"}
	for _, key := range []string{"a", "b", "@a", "@b", "eks.amazonaws.com/x", "@kubernetes.io/enforce-mountable-secrets", "@openshift.io/internal-registry-pull-secret-ref"} {
		if r.IntN(2) == 0 {
			lines = append(lines, key+"="+pick(r, "1", "2", "3")+" "+some(r, "us", "us!", "orphan", "orphan!", "kubectl", "strimzi", "strimzi!", "helm!"))
		}
	}
	for _, uid := range []string{"1", "2", "9"} {
		if r.IntN(3) == 0 {
			lines = append(lines, "owner "+uid+" "+pick(r, "us", "us!", "kubectl", "strimzi!"))
		}
	}
	lines = append(lines, pick(r, "", "", "", "unmanaged"), pick(r, "", "", "deleting"), pick(r, "", "", "finalizer f"), pick(r, "", "", automount+" kubectl"))
	return parse(strings.Join(lines, "\n"))
}

func randomFacts(t *testing.T, r *rand.Rand) Facts {
	var wants []string
	for i := range r.IntN(4) {
		wants = append(wants, strings.Join([]string{
			":object=" + pick(r, "1", "1", "2", "3"), ":created=" + pick(r, "0", "0", "1"), ":mapping=" + pick(r, "m", "n") + strconv.Itoa(i),
			":conflicts=" + pick(r, "Force", "Yield", "Fail", "Force", "Yield"),
			pick(r, ":owner", ":owner", ""), pick(r, "", "", "", ":disabled"), pick(r, "", "", "", ":deleting", ":orphaning"), pick(r, "", "", "", ":error=bad"),
			pick(r, "", ":takeOver=strimzi"), some(r, "a=1", "b=2", "@a=1", "@b=2", "eks.amazonaws.com/x=3", "@kubernetes.io/enforce-mountable-secrets=4"),
		}, " "))
	}
	settings := []string{"gate=" + pick(r, "on", "on", "on", "off"), "existing=" + pick(r, "Apply", "Apply", "Replace")}
	for _, s := range []string{"operator=strimzi", "operator=helm", "givenUp=a", "givenUp=@b", "abandoned", "orphaned", "unsure", "ending", "identities=All"} {
		if r.IntN(4) == 0 {
			settings = append(settings, s)
		}
	}
	return facts(t, strings.Join(wants, "\n"), settings...)
}

// FuzzDecide holds what is true of any account and any wants: it ends, no order of the
// wants matters, what others have set stays, nobody's account is owned or deleted, and
// what is wanted is there in the end, or reported.
func FuzzDecide(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		facts, account := randomFacts(t, r), randomAccount(r)
		before := parse(account.String())
		before.exists, before.unmanaged = account.exists, account.unmanaged
		facts.Live = account.observe()
		first := Decide(facts)
		shuffled := facts
		shuffled.Wants = slices.Clone(facts.Wants)
		r.Shuffle(len(shuffled.Wants), func(i, j int) { shuffled.Wants[i], shuffled.Wants[j] = shuffled.Wants[j], shuffled.Wants[i] })
		if diff := cmp.Diff(first, Decide(shuffled), sameWants); diff != "" {
			t.Errorf("in another order (-before +after):\n%s", diff)
		}
		did := settle(t, facts, account)
		if t.Failed() {
			return
		}
		facts.Live = account.observe()
		holds(t, facts, before, account, did)
		if t.Failed() {
			t.Logf("wants %+v\noperators %v, given up %v, gate %t, %s\nbefore\n%s\ndid %v, after\n%s",
				facts.Wants, facts.Operators, facts.GivenUp, facts.Patching, facts.Existing, before, did, account)
		}
	})
}

func holds(t *testing.T, f Facts, before, after *model, did []string) {
	t.Helper()
	deleted := slices.Contains(did, string(Delete))
	if deleted && !mayDelete(f, before) {
		t.Error("it is deleted, and is nobody's to delete")
	}
	if !before.exists || deleted {
		return
	}
	for path := range after.fields {
		if _, had := before.fields[path]; strings.HasPrefix(path, ownerPrefix) && !had {
			t.Errorf("it has a new %s", path)
		}
	}
	letGo := string(LetGo)
	if !f.Patching && len(did) > 0 && !slices.Equal(did, []string{letGo}) {
		t.Error("the gate is off, and an account that was there is written")
	}
	if slices.Contains(did, letGo) {
		for path, was := range before.fields {
			if now := after.fields[path]; now.value != was.value {
				t.Errorf("it is let go, and %s was %s and is %s", path, was.value, now.value)
			}
		}
	}
	if f.Identities != "All" {
		empowersNobody(t, before, after)
	}
	report := Decide(f).Report
	if f.Existing == "Apply" {
		foreignStays(t, f, before, after)
	}
	if c := report.Claimant; c != nil && report.Problem == "" && f.Patching && !before.deleting && !f.Unsure {
		reaches(t, f, report)
	}
}

// empowersNobody holds that an account without an owner keeps what changes what its pods may do, but for what Holdfast has
// set there.
func empowersNobody(t *testing.T, before, after *model) {
	t.Helper()
	for path := range before.fields {
		if strings.HasPrefix(path, ownerPrefix) {
			return
		}
	}
	for _, path := range []string{"eks.amazonaws.com/x", "@kubernetes.io/enforce-mountable-secrets"} {
		was, had := before.fields[path]
		now, has := after.fields[path]
		if was.owners.HasAny("us", "us!") {
			continue
		}
		if had != has || was.value != now.value {
			t.Errorf("%s was %q and is %q", path, was.value, now.value)
		}
	}
}

// mayDelete says whether all objects that own the account do not have it.
func mayDelete(f Facts, before *model) bool {
	owners := slices.DeleteFunc(slices.Collect(maps.Keys(before.fields)), func(p string) bool { return !strings.HasPrefix(p, ownerPrefix) })
	for _, owner := range owners {
		if !slices.ContainsFunc(f.Wants, func(w mapping.Want) bool {
			return !w.Enabled && w.Err == nil && ownerPrefix+string(w.Source.UID) == owner
		}) {
			return false
		}
	}
	return len(owners) > 0
}

// foreignStays holds that what somebody has set keeps its value unless a template says
// otherwise by force, and stays theirs unless they have left.
func foreignStays(t *testing.T, f Facts, before, after *model) {
	t.Helper()
	for path, field := range before.fields {
		others := field.owners.Difference(sets.New("us", "us!", "orphan", "orphan!", "strimzi", "strimzi!"))
		if f.Operators.Has("strimzi") {
			others = field.owners.Difference(sets.New("us", "us!", "orphan", "orphan!"))
		}
		if len(others) == 0 || path == automount || strings.HasPrefix(path, ownerPrefix) {
			continue
		}
		now, there := after.fields[path]
		if there && now.value == field.value && now.owners.IsSuperset(others) {
			continue
		}
		k := keyAt(path)
		// One template may take its object's reference off, and so leave the account to another.
		forced := slices.ContainsFunc(f.Wants, func(w mapping.Want) bool {
			_, wanted := valueOf(w.Labels, w.Annotations, k)
			return wanted && w.Err == nil && w.Conflicts.For(k.Name) == v1alpha1.ConflictForce
		})
		operated := slices.ContainsFunc(sets.List(others), func(o string) bool { m, _ := managerOf(o); return f.Operators.Has(m) })
		if !forced || operated || f.GivenUp.Has(k) {
			t.Errorf("%s was %v of %v and is %v", path, field.value, sets.List(others), now)
		}
	}
}

// reaches holds that what is wanted is there, or reported.
func reaches(t *testing.T, f Facts, r Report) {
	t.Helper()
	f.Wants = sorted(f)
	winner, _ := claims(f)
	if winner == nil {
		return
	}
	for _, k := range keysOf(winner.Labels, winner.Annotations) {
		to, _ := valueOf(winner.Labels, winner.Annotations, k)
		at := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Key == k })
		switch {
		case at < 0:
			t.Errorf("%s is not in the report", k.text())
		case r.Changes[at].Kind == Kept && r.Changes[at].From != to, !slices.Contains([]Kind{Kept, Yielded, Withheld}, r.Changes[at].Kind):
			t.Errorf("%s is to be %s, and is %+v", k.text(), to, r.Changes[at])
		}
	}
}
