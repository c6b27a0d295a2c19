// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
)

// bound indexes RoleBindings by the place of the Role that they refer to, so that a change of a Role costs what depends on it.
type bound map[CopyRef]sets.Set[propagate.Key]

func (b bound) add(role string, at CopyRef) {
	if role == "" {
		return
	}
	of := CopyRef{propagate.RoleKey(role), at.Namespace}
	if b[of] == nil {
		b[of] = sets.New[propagate.Key]()
	}
	b[of].Insert(at.Key)
}

func (b bound) drop(role string, at CopyRef) {
	dropFrom(b, CopyRef{propagate.RoleKey(role), at.Namespace}, at.Key)
}

// roleIn implements propagate.Roles.
func (s *state) roleIn(name, namespace string) propagate.Role {
	k := propagate.RoleKey(name)
	if c := s.copies[k][namespace]; c != nil {
		if c.DeletionTimestamp != nil {
			return propagate.Role{}
		}
		return propagate.Role{Origin: c.From, Rules: c.Rules}
	}
	if o := s.objects[k][namespace]; o != nil {
		return propagate.Role{Origin: namespace, Rules: o.Rules}
	}
	return propagate.Role{}
}

// decide decides on a place for a copy. A copy that is left as it is must refer to the Role that its source refers to.
func (s *state) decide(at CopyRef) propagate.Verdict {
	v := s.sources.Decide(s.tree, at.Key, at.Namespace, s.roleIn)
	have := s.copies[at.Key][at.Namespace]
	if v.Action == propagate.Leave && v.Source != nil && have != nil && have.Role != "" && have.Role != v.Source.Role {
		v.Action, v.Reason = propagate.Remove, propagate.RoleDiffers
	}
	return v
}

// unsafe reports whether a copy of a RoleBinding that is to be removed grants, or soon grants, what its source does not.
func (s *state) unsafe(v propagate.Verdict, have *Copy) bool {
	if v.Action != propagate.Remove || have.Role == "" {
		return false
	}
	return v.Source != nil && v.Source.Role != have.Role || s.sources.Unsafe(s.tree, have.Role, have.Namespace, v.Source, s.roleIn)
}

// explained reports whether a copy goes because a user said so: of it, or of the Role that it refers to.
func (s *state) explained(v propagate.Verdict, have *Copy) bool {
	if have.explained || v.Reason == "" {
		return have.explained
	}
	role := s.copies[propagate.RoleKey(have.Role)][have.Namespace]
	return role != nil && role.explained
}

// ready reports whether everything is known that the copies of a kind depend on.
func (s *state) ready(k *kind) bool {
	return k.synced && (k.GroupKind() != propagate.RoleBindingKind || s.rolesSynced())
}

func (s *state) rolesSynced() bool {
	roles := s.kindOf(propagate.RoleKind)
	return roles != nil && roles.synced
}

// sameRole reports whether two copies are the same to a RoleBinding that refers to them.
func sameRole(a, b *Copy) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.From == b.From && a.Rules == b.Rules && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// followRole adds the RoleBindings whose copies depend on the Role in a namespace. A copy of a Role matters in its own
// namespace, and below it to what is copied from there. Any other Role can be copied to all descendants.
func (s *state) followRole(at CopyRef, isCopy bool, d *Dirty) {
	if at.Kind != propagate.RoleKind {
		return
	}
	below := s.tree.Descendants(at.Namespace)
	into := []string{at.Namespace}
	if !isCopy {
		into = append(into, below...)
	}
	for _, namespace := range into {
		for k := range s.boundCopies[CopyRef{at.Key, namespace}] {
			s.followBinding(CopyRef{k, namespace}, d)
		}
	}
	for _, above := range s.tree.Ancestors(at.Namespace) {
		s.followSources(CopyRef{at.Key, above}, into, d)
	}
	s.followSources(at, below, d)
	if isCopy {
		return
	}
	for _, namespace := range below {
		if role := (CopyRef{at.Key, namespace}); len(s.boundSources[role]) > 0 {
			s.followSources(role, s.tree.Descendants(namespace), d)
		}
	}
}

// followSources adds the places for copies of RoleBindings that refer to a Role in their own namespace.
func (s *state) followSources(role CopyRef, into []string, d *Dirty) {
	for k := range s.boundSources[role] {
		for _, namespace := range into {
			s.followBinding(CopyRef{k, namespace}, d)
		}
	}
}

// followBinding adds a place for the copy of a RoleBinding, if something is to be done or reported there.
func (s *state) followBinding(at CopyRef, d *Dirty) {
	if d.Copies.Has(at) {
		return
	}
	v := s.decide(at)
	if (v.Source != nil || s.copies[at.Key][at.Namespace] != nil) && !s.follows(at, v) {
		d.Copies.Insert(at)
	}
}

// Bound returns the copies of RoleBindings that refer to the Role in a namespace.
func (w *World) Bound(role CopyRef) []CopyRef {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.state == nil {
		return nil
	}
	var out []CopyRef
	for k := range w.state.boundCopies[role] {
		out = append(out, CopyRef{k, role.Namespace})
	}
	return out
}

// Withheld is a namespace without a copy of a RoleBinding, and why.
type Withheld struct {
	Namespace string
	Reason    propagate.Reason
}

// withheld returns, in order, the namespaces to which a RoleBinding is not copied because of its Role.
func (s *state) withheld(source *propagate.Source) (out []Withheld) {
	if source.Role == "" || !s.complete || !s.rolesSynced() {
		return nil
	}
	for _, namespace := range s.tree.Descendants(source.Namespace) {
		if v := s.decide(CopyRef{source.Key, namespace}); v.Source == source && v.Action == propagate.Remove && v.Reason != "" {
			out = append(out, Withheld{namespace, v.Reason})
		}
	}
	return out
}
