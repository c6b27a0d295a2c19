// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decision is a row of a table: an account, what is wanted of it, what is done until
// nothing is left to do, and how it is then.
type decision struct {
	name, live, wants string
	settings          []string
	did, after        string
	report            string // of the first decision; empty to leave it
}

func (d decision) run(t *testing.T) {
	t.Parallel()
	f, m := facts(t, d.wants, d.settings...), parse(d.live)
	before := m.String()
	f.Live = m.observe()
	v := Decide(f)
	if d.report != "" {
		sameLines(t, "report", d.report, brief(v.Report))
	}
	after := d.after
	if after == "" {
		after = before
	}
	if did := strings.Join(settle(t, f, m), ", "); did != d.did {
		t.Errorf("did %q, want %q", did, d.did)
	}
	sameLines(t, "account", after, m.String())
}

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := []decision{
		{
			name: "an account that is not there is made, owned by its object", wants: ":owner a=1 @b=2",
			did: "Create", after: "@b=2 us\na=1 us\nowner 1 us", report: "added a >1\nadded @b >2",
		},
		{
			name: "an account that is not there is made without an owner if the template says none", wants: "a=1",
			did: "Create", after: "a=1 us",
		},
		{name: "a steady account costs nothing", live: "a=1 us!\nowner 1 us!", wants: ":owner a=1", report: "kept a 1 of us!"},
		{name: "what was made needs no second write", live: "a=1 us\nowner 1 us", wants: ":owner a=1"},
		{
			name: "the first change of what was made takes it over, so that what goes from the template goes",
			live: "a=1 us\nb=1 us\nowner 1 us", wants: ":owner a=2", did: "TakeOver, Apply", after: "a=2 us!\nowner 1 us!",
			report: "changed a 1>2 of us\nremoved b 1> of us",
		},
		{
			name: "a change is applied without force", live: "a=1 us!\n@b=2 us!\nowner 1 us!", wants: ":owner a=1 @b=3 @c=4",
			did: "Apply", after: "@b=3 us!\n@c=4 us!\na=1 us!\nowner 1 us!",
		},
		{
			name: "what is taken off an account comes back", live: "owner 1 us!", wants: ":owner a=1",
			did: "Apply", after: "a=1 us!\nowner 1 us!",
		},
		{
			name: "what people have set stays", live: "a=1 us!\nteam=x kubectl\n@note=y kubectl\nowner 1 us!", wants: ":owner a=2",
			did: "Apply", after: "@note=y kubectl\na=2 us!\nowner 1 us!\nteam=x kubectl",
			report: "changed a 1>2 of us!\nkept team x of kubectl\nkept @note y of kubectl",
		},
		{
			name: "an account that was there before is adopted without an owner", live: "team=x kubectl", wants: ":owner a=1",
			did: "Apply", after: "a=1 us!\nteam=x kubectl",
		},
		{
			name: "an account with nothing on it is adopted", live: "there", wants: ":owner a=1", did: "Apply", after: "a=1 us!",
		},
		{
			name: "the same value is shared", live: "a=1 kubectl", wants: "a=1", did: "Apply", after: "a=1 kubectl us!",
			report: "kept a 1 of kubectl",
		},
		{
			name: "what is shared stays when it goes from the template", live: "a=1 kubectl us!", wants: "b=1",
			did: "Apply", after: "a=1 kubectl\nb=1 us!", report: "kept a 1 of us!,kubectl\nadded b >1",
		},
		{
			name: "a reference to the owner that somebody else wrote is left to them", live: "owner 1 kubectl\na=1 us!", wants: ":owner a=2",
			did: "Apply", after: "a=2 us!\nowner 1 kubectl",
		},
		{
			name: "a reference goes when the template says so", live: "owner 1 us!\na=1 us!", wants: "a=1",
			did: "Apply", after: "a=1 us!",
		},
		{
			name: "a mistake in the object changes nothing, not even what came from it", live: "a=1 us!\nowner 1 us!", wants: ":owner :error=bad",
			report: "Error",
		},
		{name: "a mistake in the object makes no account", wants: ":error=bad", after: "gone", report: "Error"},
		{name: "an account that is being deleted is left to that", live: "deleting\nowner 1 us!", wants: ":owner a=1"},
		{
			name: "a copy of the hierarchy is left alone", live: "hnc.x-k8s.io/inherited-from=parent hnc", wants: "a=1", report: "Copy",
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestDecide_conflicts(t *testing.T) {
	t.Parallel()
	tests := []decision{
		{
			name: "yields and reports by default", live: "a=9 kubectl", wants: "a=1 b=2",
			did: "Apply", after: "a=9 kubectl\nb=2 us!", report: "yielded a 9>1 of kubectl\nadded b >2",
		},
		{
			name: "forces if it says so", live: "a=9 kubectl", wants: ":conflicts=Force a=1",
			did: "Apply by force", after: "a=1 us!", report: "changed a 9>1 of kubectl",
		},
		{
			name: "fails if it says so, and the whole account stays as it is", live: "a=9 kubectl", wants: ":conflicts=Fail a=1 b=2",
			report: "conflict a 9>1 of kubectl\nadded b >2\nConflict",
		},
		{
			name: "no force where nobody else has a say", live: "a=9 us!", wants: ":conflicts=Force a=1", did: "Apply", after: "a=1 us!",
		},
		{
			name: "what is shared is contested when the template changes", live: "a=1 kubectl us!", wants: "a=2",
			did: "Apply", after: "a=1 kubectl", report: "yielded a 1>2 of us!,kubectl",
		},
		{
			name: "a key that nobody has set is nobody's to contest", live: "a=9\nb=1 kubectl", wants: "a=1",
			did: "Apply", after: "a=1 us!\nb=1 kubectl",
		},
		{
			name: "an account that does not tell whose its fields are is somebody's", live: "unmanaged\na=9\nb=1", wants: "a=1 b=1",
			did: "Apply", after: "a=9 before-first-apply\nb=1 before-first-apply us!",
			report: "yielded a 9>1 of before-first-apply\nkept b 1 of before-first-apply",
		},
		{
			name: "a key that was given up is left alone", live: "a=9 webhook\nb=1 us!", wants: ":conflicts=Force a=1 b=1", settings: []string{"givenUp=a"},
			report: "yielded a 9>1 of webhook\nkept b 1 of us!",
		},
		{
			name: "a key that was given up and is Holdfast's is let go", live: "a=1 us!", wants: "a=1", settings: []string{"givenUp=a"},
			did: "Apply", after: "there",
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestDecide_takesOver(t *testing.T) {
	t.Parallel()
	const from = ":owner :takeOver=strimzi "
	tests := []decision{
		{
			name: "what was applied before, with one write if nothing changes", live: "a=1 strimzi!\nowner 1 strimzi!", wants: from + "a=1",
			did: "TakeOver", after: "a=1 us!\nowner 1 strimzi!", report: "kept a 1 of strimzi!",
		},
		{
			name: "what was applied before, and what is in the template no more goes", live: "a=1 strimzi!\nold=1 strimzi!\nteam=x kubectl\nowner 1 strimzi!",
			wants: from + "a=2", did: "TakeOver, Apply", after: "a=2 us!\nowner 1 strimzi!\nteam=x kubectl",
			report: "changed a 1>2 of strimzi!\nremoved old 1> of strimzi!\nkept team x of kubectl",
		},
		{
			name: "what was updated before, but only what is wanted", live: "a=1 strimzi\nold=1 strimzi\nowner 1 strimzi", wants: from + "a=2 b=3",
			did: "TakeOver, Apply", after: "a=2 us!\nb=3 us!\nold=1 strimzi\nowner 1 strimzi",
			report: "changed a 1>2 of strimzi\nadded b >3\nkept old 1 of strimzi",
		},
		{
			name: "a key that goes from the template after that goes", live: "a=1 us!\nowner 1 strimzi", wants: from, did: "Apply", after: "owner 1 strimzi",
		},
		{
			name: "the second write that a crash has lost is made good", live: "a=1 us!\nold=1 us!\nowner 1 strimzi!", wants: from + "a=2",
			did: "Apply", after: "a=2 us!\nowner 1 strimzi!",
		},
		{
			name: "somebody else's share of it is theirs", live: "a=1 kubectl strimzi!\nold=1 kubectl strimzi!", wants: from + "a=1",
			did: "TakeOver, Apply", after: "a=1 kubectl us!\nold=1 kubectl",
		},
		{
			name: "somebody else's value of it is a conflict", live: "a=1 kubectl strimzi!", wants: from + "a=2",
			report: "yielded a 1>2 of strimzi!,kubectl",
		},
		{
			name: "not from one that still runs: Holdfast yields, key by key", live: "a=1 strimzi!\nb=1 strimzi!\nowner 1 strimzi!", wants: from + "a=2 b=1 c=3",
			settings: []string{"operator=strimzi"}, did: "Apply", after: "a=1 strimzi!\nb=1 strimzi!\nc=3 us!\nowner 1 strimzi!",
			report: "yielded a 1>2 of strimzi!\nkept b 1 of strimzi!\nadded c >3",
		},
		{
			name: "not from one that still runs, even by force", live: "a=1 strimzi!", wants: from + ":conflicts=Force a=2", settings: []string{"operator=strimzi"},
		},
		{
			name: "what both have is left to the one that still runs", live: "a=1 strimzi! us!", wants: from + "a=1", settings: []string{"operator=strimzi"},
			did: "Apply", after: "a=1 strimzi!",
		},
		{
			name: "nothing while the template fails", live: "a=1 strimzi!\nb=9 kubectl", wants: from + ":conflicts=Fail a=2 b=1",
			report: "changed a 1>2 of strimzi!\nconflict b 9>1 of kubectl\nConflict",
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

// An account that somebody made has what its pods may do from that one.
func TestDecide_identities(t *testing.T) {
	t.Parallel()
	const (
		role  = "@eks.amazonaws.com/role-arn"
		mount = "@kubernetes.io/enforce-mountable-secrets"
	)
	all := []string{"identities=All"}
	tests := []decision{
		{
			name: "an account that is made has all that its object says", wants: ":owner " + role + "=x " + mount + "=false",
			did: "Create", after: role + "=x us\n" + mount + "=false us\nowner 1 us",
		},
		{
			name: "an account that the object owns too", live: "owner 1 strimzi", wants: ":owner " + role + "=x " + mount + "=false",
			did: "Apply", after: role + "=x us!\n" + mount + "=false us!\nowner 1 strimzi",
		},
		{
			name: "on one that nobody owns only the other keys", live: mount + "=true kubectl", wants: ":owner a=1 " + role + "=x " + mount + "=false",
			did: "Apply", after: mount + "=true kubectl\na=1 us!",
			report: "added a >1\nwithheld " + role + " >x EKS\nwithheld " + mount + " true>false of kubectl",
		},
		{
			name: "not by force either", live: role + "=y kubectl", wants: ":owner :conflicts=Force " + role + "=x",
			report: "withheld " + role + " y>x of kubectl EKS",
		},
		{
			name: "a value that is there already is not shared, or it could be changed later", live: role + "=x kubectl", wants: ":owner " + role + "=x",
			report: "kept " + role + " x of kubectl EKS",
		},
		{
			name: "a key that another program has set is not taken over", live: role + "=y strimzi\na=1 strimzi", wants: ":owner :takeOver=strimzi a=1 " + role + "=x",
			did: "TakeOver", after: role + "=y strimzi\na=1 us!",
		},
		{
			name: "what Holdfast has set before follows its object", live: role + "=y us!", wants: ":owner " + role + "=x", did: "Apply", after: role + "=x us!",
		},
		{
			name: "and goes with it", live: role + "=y us!", wants: ":owner a=1", did: "Apply", after: "a=1 us!",
		},
		{
			name: "a replacement neither sets nor takes them", live: mount + "=true kubectl\nteam=x kubectl", wants: ":owner " + role + "=x",
			settings: []string{"existing=Replace"}, did: "Replace", after: mount + "=true kubectl",
			report: "removed team x> of kubectl\nwithheld " + role + " >x EKS\nkept " + mount + " true of kubectl",
		},
		{
			name: "all of them where it is configured", live: mount + "=true kubectl", wants: ":owner :conflicts=Force " + role + "=x " + mount + "=false",
			settings: all, did: "Apply by force", after: role + "=x us!\n" + mount + "=false us!",
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestDecide_gate(t *testing.T) {
	t.Parallel()
	off := []string{"gate=off"}
	tests := []decision{
		{name: "off, an account that is not there is made from the template", wants: ":owner a=1", settings: off, did: "Create", after: "a=1 us\nowner 1 us"},
		{name: "off, an account that is there stays as it is", live: "a=9 us!\nowner 1 us!", wants: ":owner a=1", settings: off},
		{name: "off, an account that people made stays as it is", live: "team=x kubectl", wants: ":owner a=1", settings: off},
		{name: "off, an account goes with its component", live: "a=1 us\nowner 1 us", wants: ":owner :disabled", settings: off, did: "Delete", after: "gone"},
		{name: "off, what was adopted before is not let go", live: "a=1 us!", wants: ":owner :disabled", settings: off},
		{name: "on, the template is patched", live: "a=9 us!\nowner 1 us!", wants: ":owner a=1", did: "Apply", after: "a=1 us!\nowner 1 us!"},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestDecide_unwanted(t *testing.T) {
	t.Parallel()
	tests := []decision{
		{name: "an account of a component that is off goes", live: "a=1 us!\nowner 1 us!\nteam=x kubectl", wants: ":owner :disabled", did: "Delete", after: "gone"},
		{name: "one that the operator made for the object goes too", live: "owner 1 strimzi", wants: ":owner :disabled", did: "Delete", after: "gone"},
		{name: "one that an operator has written which runs is for that operator", live: "owner 1 strimzi", wants: ":owner :disabled", settings: []string{"operator=strimzi"}},
		{name: "one that is not there is no more to do", wants: ":owner :disabled", after: "gone"},
		{
			name: "one that was there before stays, without what Holdfast has set", live: "a=1 us!\nb=2 kubectl us!\nteam=x kubectl", wants: ":owner :disabled",
			did: "Release", after: "b=2 kubectl\nteam=x kubectl", report: "removed a 1> of us!\nkept b 2 of us!,kubectl\nkept team x of kubectl",
		},
		{name: "one that people made and Holdfast never wrote stays", live: "team=x kubectl", wants: ":owner :disabled"},
		{name: "one that another object owns stays", live: "owner 2 kubectl", wants: ":owner :disabled"},
		{name: "one that is not to be owned is not deleted", live: "a=1 us!\nowner 1 kubectl", wants: ":disabled", did: "Release", after: "owner 1 kubectl"},
		{
			name: "one that others own as well stays", live: "a=1 us!\nowner 1 us!\nowner 2 kubectl", wants: ":owner :disabled", did: "Release", after: "owner 2 kubectl",
		},
		{name: "one that the object has by another template stays", live: "a=1 us!\nowner 1 us!", wants: ":owner :disabled\n:owner :mapping=other a=1"},
		{name: "when the object has gone, what it owned is the garbage collector's", live: "a=1 us!\nowner 1 us!"},
		{name: "when the object has gone, what was adopted is let go", live: "a=1 us!\nteam=x kubectl", did: "Release", after: "team=x kubectl"},
		{name: "when the object has gone, what was made without an owner is let go", live: "a=1 us", did: "TakeOver, Release", after: "there"},
		{
			name: "when no template says anything of it, what an object owns gives back its keys, and stays the object's",
			live: "a=1 us!\nb=2 kubectl us!\nowner 1 us!", settings: []string{"abandoned"}, did: "Release", after: "b=2 kubectl\nowner 1 us!",
		},
		{name: "the same of one that was made and not applied", live: "a=1 us\nowner 1 us", settings: []string{"abandoned"}, did: "TakeOver, Release", after: "owner 1 us!"},
		{name: "but not while the gate is off", live: "a=1 us!\nowner 1 us!", settings: []string{"abandoned", "gate=off"}},
		{name: "when an object goes whose accounts are to stay, they stay as they are", live: "a=1 us!\nteam=x kubectl", wants: ":orphaning a=1", did: "LetGo", after: "a=1 orphan!\nteam=x kubectl"},
		{name: "and after it has gone too", live: "a=1 us\nowner 1 us", settings: []string{"orphaned"}, did: "LetGo", after: "a=1 orphan\nowner 1 orphan"},
		{name: "a second time too", live: "a=1 us!\nb=1 orphan!", settings: []string{"orphaned"}, did: "LetGo", after: "a=1 orphan!\nb=1 orphan!"},
		{name: "nobody who does not want it touches what stayed", live: "a=1 orphan!\nteam=x kubectl"},
		{name: "nor when what another object set on it goes", live: "a=1 orphan!\nb=1 us", did: "TakeOver, Release", after: "a=1 orphan!"},
		{
			name: "an object that is made again has the keys again, and what its template does not say goes",
			live: "a=1 orphan!\nold=1 orphan!\nteam=x kubectl", wants: ":owner a=2", did: "TakeOver, Apply", after: "a=2 us!\nteam=x kubectl",
			report: "changed a 1>2 of orphan!\nremoved old 1> of orphan!\nkept team x of kubectl",
		},
		{
			name: "an object that is made again as it was changes nothing", live: "a=1 orphan!\n@b=1 orphan!", wants: ":owner a=1 @b=1",
			did: "TakeOver", after: "@b=1 us!\na=1 us!",
		},
		{
			name: "of what Holdfast made and never applied the keys that are wanted", live: "a=1 orphan\nold=1 orphan", wants: ":owner a=2",
			did: "TakeOver, Apply", after: "a=2 us!\nold=1 orphan",
		},
		{
			name: "what somebody has changed meanwhile is theirs", live: "a=9 kubectl\nb=1 orphan!", wants: ":owner a=2 b=2",
			did: "TakeOver, Apply", after: "a=9 kubectl\nb=2 us!", report: "yielded a 9>2 of kubectl\nchanged b 1>2 of orphan!",
		},
		{
			name: "an identity stays on an account that the object does not own", live: "@eks.amazonaws.com/role-arn=a orphan!\nb=1 orphan!", wants: ":owner @eks.amazonaws.com/role-arn=z b=2",
			did: "TakeOver, Apply", after: "@eks.amazonaws.com/role-arn=a orphan!\nb=2 us!",
		},
		{name: "but somebody else may have it", live: "a=1 us!\nteam=x kubectl", wants: ":orphaning a=1\n:object=2 a=2", did: "Apply", after: "a=2 us!\nteam=x kubectl"},
		{name: "while the object goes, nothing changes", live: "a=1 us!", wants: ":deleting a=1"},
		{name: "an object that goes gets no account", wants: ":owner :deleting a=1", after: "gone"},
		{name: "an account whose object has a mistake is not deleted", live: "owner 1 us!", wants: ":owner :disabled :error=bad"},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestDecide_claims(t *testing.T) {
	t.Parallel()
	tests := []decision{
		{name: "an account that another object owns is refused", live: "owner 7 kubectl", wants: ":owner a=1", report: "OwnedByAnother"},
		{name: "the oldest object has it", wants: ":object=2 :created=1 a=2\n:object=3 :created=0 a=3", did: "Create", after: "a=3 us"},
		{name: "of equals the first by name", wants: ":object=2 a=2\n:object=1 a=1", did: "Create", after: "a=1 us"},
		{name: "of two templates of one object the first by name", wants: ":mapping=b a=2\n:mapping=a a=1", did: "Create", after: "a=1 us"},
		{name: "whose object owns it goes before the oldest", live: "owner 2 us!", wants: ":object=2 :created=1 :owner a=2\n:object=1 a=1", did: "Apply", after: "a=2 us!\nowner 2 us!"},
		{name: "one with a mistake has it all the same", wants: ":object=1 :error=bad\n:object=2 a=2", after: "gone", report: "Error"},
		{name: "one that does not want it now does not", wants: ":object=1 :disabled\n:object=2 a=2", did: "Create", after: "a=2 us"},
		{name: "what may be another's is left while not all can be asked", live: "a=1 us!\nteam=x kubectl", wants: "b=2", settings: []string{"unsure"}},
		{name: "the same with another value", live: "a=1 us!", wants: "a=2", settings: []string{"unsure"}},
		{name: "but nothing is taken back when a key is added", live: "a=1 us!", wants: "a=1 b=2", settings: []string{"unsure"}, did: "Apply", after: "a=1 us!\nb=2 us!"},
		{name: "nor from one whose object has it by its reference", live: "a=1 us!\nowner 1 us!", wants: ":owner a=2", settings: []string{"unsure"}, did: "Apply", after: "a=2 us!\nowner 1 us!"},
		{name: "none is made in a namespace that goes", wants: ":owner a=1", settings: []string{"ending"}, after: "gone"},
		{
			name: "what one does not want any more goes before another makes it anew", live: "a=1 us!\nowner 1 us!",
			wants: ":object=1 :owner :disabled\n:object=2 :owner a=2", did: "Delete, Create", after: "a=2 us\nowner 2 us", report: "OwnedByAnother",
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}

func TestDecide_isTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	f := facts(t, `
		:object=4 :created=2 :owner a=4
		:object=2 :created=1 a=2
		:object=3 :created=1 a=3
		:object=2 :created=1 :mapping=other a=9
		:object=1 :created=0 :disabled
		:object=5 :created=0 :deleting a=5
		:object=6 :created=3 :error=bad`)
	for _, live := range []string{"", "there", "owner 4 us!", "owner 2 us", "owner 1 us", "a=1 us!"} {
		f.Live = parse(live).observe()
		want := Decide(f)
		for range 50 {
			rand.Shuffle(len(f.Wants), func(i, j int) { f.Wants[i], f.Wants[j] = f.Wants[j], f.Wants[i] })
			if diff := cmp.Diff(want, Decide(f), sameWants); diff != "" {
				t.Fatalf("on %q (-one order +another):\n%s", live, diff)
			}
		}
	}
}

func TestDecide_replaces(t *testing.T) {
	t.Parallel()
	replace := []string{"existing=Replace"}
	tests := []decision{
		{
			name: "everything that is not the template's goes", live: "a=9 kubectl\nteam=x kubectl\n@note=y kubectl\nowner 1 strimzi\nowner 2 kubectl\nfinalizer f\nautomount kubectl",
			wants: ":owner a=1 @b=2", settings: replace, did: "Replace", after: "@b=2 us\na=1 us\nowner 1 strimzi",
			report: "changed a 9>1 of kubectl\nremoved team x> of kubectl\nadded @b >2\nremoved @note y> of kubectl\n" +
				"removed .metadata.finalizers f>\nremoved .automountServiceAccountToken set>\nchanged .metadata.ownerReferences Shop/shop-1,Shop/shop-2>Shop/shop-1",
		},
		{
			name: "the pull secret's annotation of OpenShift stays", live: "@openshift.io/internal-registry-pull-secret-ref=s openshift\nowner 1 strimzi",
			wants: ":owner a=1", settings: replace, did: "Replace", after: "@openshift.io/internal-registry-pull-secret-ref=s openshift\na=1 us\nowner 1 strimzi",
		},
		{
			name: "nothing is written when nothing differs", live: "@openshift.io/internal-registry-pull-secret-ref=s openshift\na=1 kubectl\nowner 1 strimzi",
			wants: ":owner a=1", settings: replace,
		},
		{name: "an account that was there before gets no owner by it either", live: "team=x kubectl", wants: ":owner a=1", settings: replace, did: "Replace", after: "a=1 us"},
		{
			name: "an operator that runs keeps what it has set", live: "a=9 strimzi!\nb=1 strimzi!", wants: "a=1", settings: []string{"existing=Replace", "operator=strimzi"},
			report: "yielded a 9>1 of strimzi!\nkept b 1 of strimzi!",
		},
		{name: "what was replaced can be applied later", live: "a=1 us\nb=1 us", wants: "a=1", did: "TakeOver, Apply", after: "a=1 us!"},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}
