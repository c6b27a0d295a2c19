// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
	"github.com/holdfast-dev/holdfast/internal/rootsync/rights"
)

// standingOf decides contests for one RootSync.
func (s *Syncer) standingOf(who object.Sync) func(object.ID) object.Standing {
	return func(id object.ID) object.Standing {
		if !id.IsNamespace() {
			return object.Stand(who, s.declarers.list(id), func(other object.Sync) object.Right { return s.may(other, id) })
		}
		ruling, err := s.spaces.ruling(s.base, id.Name)
		if err != nil {
			return object.Standing{}
		}
		return ruling.Standing(who)
	}
}

// usersFor returns who else uses a Namespace, or the kind that a CRD defines.
func (s *Syncer) usersFor(sync object.Sync) func(object.ID) apply.Use {
	return func(id object.ID) apply.Use {
		if !id.IsNamespace() {
			users, open := s.usersOfCRD(id, sync)
			return apply.Use{By: users, Open: open}
		}
		ruling, err := s.spaces.ruling(s.base, id.Name)
		if err != nil {
			return apply.Use{By: []string{"others, perhaps: " + err.Error()}}
		}
		switch fate, users, open := ruling.FateOf(sync); fate {
		case namespaces.Keep:
			return apply.Use{By: users, Open: open}
		case namespaces.LetGo:
			return apply.Use{KeptBy: users}
		default:
			return apply.Use{}
		}
	}
}

// usersOfCRD are the RootSyncs that declare objects of what a CRD defines, or still have some, and may write them.
func (s *Syncer) usersOfCRD(id object.ID, but object.Sync) (users []string, open bool) {
	kinds := s.o.Kinds.Current()
	if kinds == nil {
		return nil, false
	}
	kind, served := definedBy(id, kinds)
	if !served {
		return nil, false
	}
	ofKind := func(id object.ID) bool { return id.GroupKind() == kind.GroupKind() }
	for _, other := range s.declarers.syncs() {
		if other == but {
			continue
		}
		switch s.mayAny(other, s.declarers.having(other, ofKind)) {
		case object.Granted:
			users = append(users, "RootSync "+string(other))
		case object.Unknown:
			open = true
		case object.Missing:
		}
	}
	return users, open && len(users) == 0
}

// may answers whether the account of a RootSync may apply an object.
func (s *Syncer) may(who object.Sync, id object.ID) object.Right {
	q, served := s.question(who, id)
	if !served {
		return object.Missing
	}
	seen, _ := s.hub.Seen(id)
	return s.rights.May(q, seen != nil)
}

// askedAtOnce bounds the questions about single objects that mayAny has open at a time.
const askedAtOnce = 50

// mayAny answers whether it may apply any of several objects.
func (s *Syncer) mayAny(who object.Sync, ids []object.ID) object.Right {
	open := 0
	for _, id := range ids {
		switch s.may(who, id) {
		case object.Granted:
			return object.Granted
		case object.Unknown:
			open++
			if open == askedAtOnce {
				return object.Unknown
			}
		case object.Missing:
		}
	}
	if open > 0 {
		return object.Unknown
	}
	return object.Missing
}

// namespacesResource is that of Namespaces, which every API server serves.
var namespacesResource = schema.GroupResource{Resource: "namespaces"}

func (s *Syncer) question(who object.Sync, id object.ID) (q rights.Question, served bool) {
	if id.IsNamespace() {
		return rights.Question{Sync: who, Resource: namespacesResource, Name: id.Name}, true
	}
	kinds := s.o.Kinds.Current()
	if kinds == nil {
		return q, false
	}
	kind, served := kinds.ByKind(id.GroupKind())
	return rights.Question{Sync: who, Resource: kind.GroupResource(), Namespace: id.Namespace, Name: id.Name}, served
}

// rightsIn answer what RootSyncs may do about a namespace.
func (s *Syncer) rightsIn(name string, exists bool) namespaces.Rights {
	itself := func(who object.Sync) object.Right {
		q, _ := s.question(who, object.NamespaceID(name))
		return s.rights.May(q, exists)
	}
	return namespaces.Rights{
		Namespace: itself,
		Inside: func(who object.Sync) object.Right {
			ids := s.declarers.having(who, func(id object.ID) bool { return id.Namespace == name })
			if len(ids) == 0 {
				return itself(who) // it has nothing but the Namespace
			}
			return s.mayAny(who, ids)
		},
	}
}

// forbidden returns a func that the engine of a RootSync calls when an apply was forbidden: if by its rights, another one
// may own the object.
func (s *Syncer) forbidden(who object.Sync) func(object.ID) {
	return func(id object.ID) {
		if q, served := s.question(who, id); served {
			s.rights.Refused(q)
		}
	}
}

// concerns returns the objects of a RootSync that a question is about.
func (s *Syncer) concerns(q rights.Question) (kind schema.GroupKind, ids []object.ID) {
	if q.Resource == namespacesResource {
		kind = namespaceKind
	} else if kinds := s.o.Kinds.Current(); kinds != nil {
		found, _ := kinds.ByResource(q.Resource)
		kind = found.GroupKind()
	}
	matches := func(id object.ID) bool {
		return id.GroupKind() == kind && id.Namespace == q.Namespace && (q.Name == "" || id.Name == q.Name)
	}
	if q.Name != "" {
		ids = s.declarers.havingOne(q.Sync, object.ID{Group: kind.Group, Kind: kind.Kind, Namespace: q.Namespace, Name: q.Name})
	} else {
		ids = s.declarers.having(q.Sync, matches)
	}
	if kind == namespaceKind {
		for _, name := range s.registry.Of(q.Sync) {
			if id := object.NamespaceID(name); matches(id) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return kind, ids
}

// use tells how much depends on the answer to a question.
func (s *Syncer) use(q rights.Question, granted bool) rights.Use {
	kind, ids := s.concerns(q)
	use := rights.Unused
	if len(ids) > 0 || kind == namespaceKind && !s.registry.Said(q.Sync) {
		use = rights.Used
	}
	for _, id := range ids {
		// Of a Namespace the error of the RootSync is by the answer, if that is no.
		if all := s.declarers.list(id); len(all) > 1 || kind == namespaceKind && !granted && slices.Contains(all, q.Sync) {
			return rights.Contested
		}
	}
	return use
}

// rightChanged requeues what depends on a right.
func (s *Syncer) rightChanged(q rights.Question) {
	kind, ids := s.concerns(q)
	if kind == namespaceKind {
		s.rightsInChanged(q, ids)
		return
	}
	for _, id := range ids {
		s.reconsider(id)
	}
	if q.Namespace != "" {
		s.reconsider(object.NamespaceID(q.Namespace))
	}
	if q.Resource.Group != "" {
		s.reconsider(plan.CRD(q.Resource))
	}
}

// rightsInChanged requeues namespaces: all of them for a RootSync whose claims are not known.
func (s *Syncer) rightsInChanged(q rights.Question, ids []object.ID) {
	if !s.registry.Said(q.Sync) {
		s.spaces.askAll(s.base)
	}
	for _, id := range ids {
		s.spaces.ask([]string{id.Name})
		s.reconsider(id)
	}
}

// setReach sets where the roles of a RootSync hold, and requeues what depends on it.
func (s *Syncer) setReach(who object.Sync, reach object.Reach) {
	if !s.rights.SetReach(who, reach) {
		return
	}
	for _, id := range s.declarers.having(who, func(object.ID) bool { return true }) {
		s.reconsider(id)
	}
	s.spaces.ask(s.registry.Of(who))
}
