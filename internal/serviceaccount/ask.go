// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// facts are what is known of an account for a decision about it, and when they are
// others although nothing happens; false while that is not enough for a decision, or
// where the account is none of Holdfast's business.
func (k *known) facts(key types.NamespacedName, where scope.Scope) (f plan.Facts, again time.Duration, enough bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.accounts[key]
	if !k.settled || a == nil || !k.in(key.Namespace, where) {
		return f, 0, false
	}
	if len(a.wants) == 0 && (!k.complete() || k.clock.Since(k.settledAt) < k.pauses.AccountsDiscovered) {
		return f, 0, false // somebody may want it whom nobody can ask now
	}
	a.sure = a.sure || k.complete()
	f = plan.Facts{
		NamespacedName: key, Live: a.live, Wants: slices.Collect(maps.Values(a.wants)), Operators: sets.New[string](),
		Orphaned: a.orphaned, Unsure: !a.sure, Ending: k.namespaces[key.Namespace].ending,
	}
	if len(a.wants) == 0 && a.live != nil {
		again = max(0, k.pauses.AccountsCollected-k.clock.Since(a.unwanted))
		f.Abandoned = again == 0
	}
	if k.operatorCounts() {
		f.Operators = builtin.StrimziManagers()
	}
	return f, again, true
}

// in says whether a namespace is in scope.
func (k *known) in(namespace string, where scope.Scope) bool {
	return where.Matches(namespace, k.namespaces[namespace].labels)
}

// complete says whether all wants of all templates are known.
func (k *known) complete() bool {
	if k.incomplete {
		return false
	}
	for _, f := range k.mappings {
		if f.source != (inventory.ObjectSource{}) && (k.failing[f.source] != "" || !k.synced.Has(f.source)) {
			return false
		}
	}
	return true
}

// wrote takes in what the API server made of a write; nil says that the account is
// being deleted.
func (k *known) wrote(key types.NamespacedName, o *metav1.PartialObjectMetadata) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.accounts[key]
	if a == nil {
		return
	}
	a.missed = 0
	k.refuse(a, "")
	if o == nil || a.live != nil && !resourceversion.Newer(o.ResourceVersion, a.live.ResourceVersion) || a.ended != "" && !resourceversion.Newer(o.ResourceVersion, a.ended) {
		return
	}
	a.live = o
}

// refused takes in why an account cannot be written; nil if nobody tries.
func (k *known) refused(key types.NamespacedName, why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.accounts[key]
	switch {
	case a == nil:
	case why == nil:
		k.refuse(a, "")
	default:
		k.refuse(a, why.Error())
	}
}

func (k *known) refuse(a *account, why string) {
	if a.refused == why {
		return
	}
	a.refused = why
	for id := range a.wants {
		k.counted(id.mapping)
	}
	k.changed()
}

// missed counts a write that was about another account than there is, and returns how
// many there were in a row.
func (k *known) missed(key types.NamespacedName) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.accounts[key]
	if a == nil {
		return 0
	}
	a.missed++
	return a.missed
}

// operatorCounts says whether an operator runs, or did a moment ago.
func (k *known) operatorCounts() bool {
	return len(k.operators) > 0 || k.clock.Now().Before(k.operated)
}

// decided takes in what was decided about an account.
func (k *known) decided(key types.NamespacedName, v *plan.Verdict) { k.settledAs(key, "", v) }

// settledAs takes in what was decided about an account as somebody knows it who has just
// written it: when the watch tells of that version, all is done.
func (k *known) settledAs(key types.NamespacedName, version string, v *plan.Verdict) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.accounts[key]
	if a == nil {
		return
	}
	a.last, a.settled = v, version
	if v == nil || !v.Pending() {
		k.refuse(a, "")
	}
	said := sets.New[string]()
	for id := range a.wants {
		said.Insert(id.mapping)
	}
	for name := range said {
		k.counted(name)
	}
}

// operatorRuns says whether an operator runs beside Holdfast that writes accounts.
func (k *known) operatorRuns() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.operatorCounts()
}

// counts are what is said of a template.
type counts struct {
	objects, accounts, pending, conflicts, errors int32
	// problem says why its objects cannot be read, empty if they can.
	problem string
	// known says whether they have been read.
	known bool
}

func (k *known) counts(name string, where scope.Scope) counts {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.mappings[name]
	if f == nil {
		return counts{}
	}
	out := counts{problem: k.failing[f.source], known: k.settled && k.synced.Has(f.source)}
	for object, wants := range f.wants {
		if !k.in(object.Namespace, where) {
			continue
		}
		out.objects++
		for i := range wants {
			out.add(&wants[i], k.accounts[types.NamespacedName{Namespace: object.Namespace, Name: wants[i].Name}], name)
		}
	}
	return out
}

func (c *counts) add(w *mapping.Want, a *account, name string) {
	switch {
	case w.Err != nil:
		c.errors++
		return
	case w.Enabled:
		c.accounts++
	}
	if a == nil || a.last == nil || a.last.Report.Claimant == nil {
		return
	}
	r := &a.last.Report
	if mine := r.Claimant.Mapping == name && r.Claimant.Source.UID == w.Source.UID; !mine {
		if w.Enabled {
			c.conflicts++ // somebody else has it
		}
		return
	}
	if a.last.Pending() {
		c.pending++
	}
	if a.refused != "" {
		c.errors++
	}
	if r.Conflicts() {
		c.conflicts++
	}
}

// totals are what there is to do in all.
type totals struct {
	changes  map[plan.Kind]int
	problems map[plan.Problem]int
}

func (k *known) totals() totals {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := totals{changes: map[plan.Kind]int{}, problems: map[plan.Problem]int{}}
	for _, a := range k.accounts {
		if a.last == nil {
			continue
		}
		if p := a.last.Report.Problem; p != "" {
			out.problems[p]++
		}
		for _, c := range a.last.Report.Changes {
			out.changes[c.Kind]++
		}
	}
	return out
}

// unwritten says how many accounts cannot be written, and why one of them.
func (k *known) unwritten() (n int, example string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, a := range k.accounts {
		if a.refused == "" {
			continue
		}
		n++
		if text := fmt.Sprintf("%s: %s", key, a.refused); example == "" || text < example {
			example = text
		}
	}
	return n, example
}

// blind says what cannot be read; empty if nothing.
func (k *known) blind() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []string
	for s, err := range k.failing {
		out = append(out, fmt.Sprintf("%s: %s", s.Resource.GroupResource(), err))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
