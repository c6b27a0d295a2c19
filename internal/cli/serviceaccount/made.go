// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// planOf makes the plan, of the accounts that one template is about or of all.
func planOf(s *seen, template string) *Plan {
	p := &Plan{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "ServiceAccountPlan"},
		Settings: s.settings.Settings, Items: []Item{}, Notes: s.notes, NotLookedAt: s.gaps,
	}
	for _, f := range s.facts() {
		about := func(w mapping.Want) bool { return w.Mapping == template }
		if template != "" && !slices.ContainsFunc(f.Wants, about) {
			continue
		}
		v := plan.Decide(f)
		if v.Report.Claimant == nil && !v.Pending() && v.Report.Problem == "" {
			continue // an account that is none of Holdfast's business
		}
		item := itemOf(f, v)
		p.Items = append(p.Items, item)
		p.Summary.add(&item, v.Report.Conflicts())
	}
	return p
}

// facts are those of each account that somebody wants, or that has something of
// Holdfast's, in the scope.
func (s *seen) facts() []plan.Facts {
	var out []plan.Facts
	add := func(key types.NamespacedName, wants []mapping.Want) {
		if !s.settings.scope.Matches(key.Namespace, s.namespaces[key.Namespace]) {
			return
		}
		f := plan.Facts{
			NamespacedName: key, Wants: wants, Live: s.accounts[key],
			Patching: true, Existing: s.settings.Existing, Identities: s.settings.Identities, Operators: sets.New[string](), Abandoned: true,
		}
		if s.settings.StrimziOperator {
			f.Operators = builtin.StrimziManagers()
		}
		out = append(out, f)
	}
	for key, wants := range s.wants {
		add(key, wants)
	}
	for key, live := range s.accounts {
		// Somebody may want it whom nobody could ask.
		if len(s.wants[key]) == 0 && !s.incomplete && Kept(live) {
			add(key, nil)
		}
	}
	for _, w := range s.nameless {
		add(types.NamespacedName{Namespace: w.Source.Namespace}, []mapping.Want{w})
	}
	slices.SortFunc(out, func(a, b plan.Facts) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(sourceName(a), sourceName(b)))
	})
	return out
}

func sourceName(f plan.Facts) string {
	if len(f.Wants) == 0 {
		return ""
	}
	return f.Wants[0].Source.Name
}

// Kept says whether Holdfast has set something on an account.
func Kept(o *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(o.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == plan.FieldManager })
}

func itemOf(f plan.Facts, v plan.Verdict) Item {
	r := v.Report
	out := Item{
		Namespace: f.Namespace, Name: f.Name, Action: actionOf(v), Exists: f.Live != nil,
		Adopted: r.Adopted, Problem: r.Problem, Message: r.Message,
	}
	if c := r.Claimant; c != nil {
		out.Template, out.Account, out.Object = c.Mapping, c.Account, new(objectOf(c.Source))
	}
	for _, rival := range r.Rivals {
		out.Rivals = append(out.Rivals, Rival{rival.Mapping, rival.Account, objectOf(rival.Source)})
	}
	for _, c := range r.Changes {
		out.Keys = append(out.Keys, keyOf(c))
	}
	return out
}

func actionOf(v plan.Verdict) Action {
	switch v.Action.Do {
	case plan.Nothing:
		return None
	case plan.Create:
		return Create
	case plan.Replace:
		return Replace
	case plan.Delete:
		return Delete
	case plan.Release, plan.LetGo:
		return Release
	case plan.TakeOver:
		if v.Report.Message != "" { // why it is given back, as the write that follows
			return Release
		}
	}
	return Write
}

func objectOf(s mapping.Source) Object {
	return Object{Group: s.Group, Version: s.Version, Kind: s.Kind, Name: s.Name}
}

func keyOf(c plan.Change) Key {
	out := Key{Field: c.Field, Key: c.Name, Change: c.Kind, From: c.From, To: c.To}
	for _, o := range c.Owners {
		owner := Owner{Manager: o.Manager, Operation: string(o.Operation)}
		if !o.Time.IsZero() {
			owner.Time = new(o.Time.UTC().Truncate(time.Second))
		}
		out.Owners = append(out.Owners, owner)
	}
	if c.Identity != nil {
		out.Identity = &Identity{c.Identity.Provider, c.Identity.Meaning}
	}
	return out
}

// writes says whether a key changes when the account is written.
func (k *Key) writes() bool {
	return k.Change == plan.Added || k.Change == plan.Changed || k.Change == plan.Removed
}

// changes says whether any value changes when the account is written.
func (i *Item) changes() bool {
	return slices.ContainsFunc(i.Keys, func(k Key) bool { return k.writes() })
}

// changesIdentity says whether a cloud identity would be another.
func (i *Item) changesIdentity() bool {
	return i.Action != None && slices.ContainsFunc(i.Keys, func(k Key) bool { return k.Identity != nil && k.writes() })
}

// left reports whether a key stays as it is though the object wants another value.
func (k Key) left() bool { return k.Change == plan.Yielded || k.Change == plan.Withheld }

func (s *Summary) add(i *Item, conflicts bool) {
	s.Accounts++
	if conflicts {
		s.Conflicts++
	}
	if i.Problem == plan.ProblemError || i.Problem == plan.ProblemUnreadable {
		s.Errors++
	}
	for _, k := range i.Keys {
		if i.Action != None || k.left() {
			s.count(k.Change)
		}
	}
	switch i.Action {
	case None:
		return
	case Create:
		s.Created++
	case Delete:
		s.Deleted++
	case Release:
		s.Released++
	default:
		if !i.changes() {
			s.OwnedOnly++
		}
	}
	s.Changing++
}

func (s *Summary) count(k plan.Kind) {
	switch k {
	case plan.Added:
		s.Added++
	case plan.Changed:
		s.Changed++
	case plan.Removed:
		s.Removed++
	case plan.Yielded:
		s.Yielded++
	case plan.Withheld:
		s.Withheld++
	}
}
