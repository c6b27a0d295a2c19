// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// space is a Namespace as it was read: nil if there is none.
type space struct {
	live *metav1.PartialObjectMetadata
	// unread says that nobody could look.
	unread bool
}

// spaces are whose the namespaces are that the RootSync has to do with.
type spaces struct {
	in      *Input
	live    map[string]space
	stakes  map[string]namespaces.Stakes
	rulings map[string]namespaces.Ruling
	// made are those that the RootSync makes along the way.
	made []string
	// withheld are those of which nobody can tell whose they are.
	withheld map[string]error
	// declared are those that the source has.
	declared sets.Set[string]
}

// concerned are the names of the namespaces that have to be read.
func (in *Input) concerned() []string {
	w := in.wants()
	names := sets.New(append(w.Declared, w.Needed...)...)
	for _, id := range in.Inventory {
		if id.IsNamespace() {
			names.Insert(id.Name)
		}
	}
	return sets.List(names)
}

// wants is what the RootSync wants of namespaces, also for what it has and is refused now.
func (in *Input) wants() namespaces.Wants {
	has := slices.DeleteFunc(slices.Clone(in.Refused), func(d object.Declared) bool { return !slices.Contains(in.Inventory, d.ID()) })
	return namespaces.WantsOf(slices.Concat(in.Declared, has), in.Created, !in.Explicit)
}

// refuses says whether an object stays as it is, since the source asks for what is not built.
func (in *Input) refuses(id object.ID) bool {
	return slices.ContainsFunc(in.Refused, func(d object.Declared) bool { return d.ID() == id })
}

// judge says whose the namespaces are.
func (in *Input) judge(live map[string]space) *spaces {
	wants := in.wants()
	s := &spaces{
		in: in, live: live, stakes: map[string]namespaces.Stakes{}, rulings: map[string]namespaces.Ruling{},
		withheld: map[string]error{}, declared: sets.New(wants.Declared...),
	}
	registry := namespaces.NewRegistry()
	registry.Set(in.Sync, wants)
	for _, o := range in.Others {
		registry.Set(o.Sync, o.wants(live))
	}
	for _, name := range in.concerned() {
		if live[name].unread {
			continue
		}
		s.stakes[name] = registry.Stakes(name)
		var o metav1.Object
		if live[name].live != nil {
			o = live[name].live
		}
		ruling := namespaces.Alone(o, s.stakes[name])
		if !in.Unclaimed {
			var err error
			if ruling, err = namespaces.Judge(o, s.stakes[name], in.rightsIn(name, o != nil), in.Now); err != nil {
				s.withheld[name] = err
				continue
			}
		}
		s.rulings[name] = ruling
		if ruling.Owner == in.Sync && s.stakes[name][in.Sync].How == namespaces.Makes {
			s.made = append(s.made, name)
		}
	}
	return s
}

// wants is what another RootSync wants of namespaces, as far as its inventory tells, and
// the claims and marks on them.
func (o *Other) wants(live map[string]space) namespaces.Wants {
	w := namespaces.Wants{Since: o.Created, Makes: !o.Explicit}
	needed := sets.New[string]()
	for id := range o.Has {
		if id.Namespace != "" {
			needed.Insert(id.Namespace)
		}
	}
	w.Needed = sets.List(needed)
	for name, space := range live {
		if space.live != nil && o.declares(space.live) {
			w.Declared = append(w.Declared, name)
		}
	}
	slices.Sort(w.Declared)
	return w
}

func (o *Other) declares(live *metav1.PartialObjectMetadata) bool {
	verdict, err := ownership.Decide(live)
	return err == nil && slices.ContainsFunc(verdict.Claims, func(c ownership.Claim) bool {
		return c.How == ownership.Declared && c.Claimant == ownership.RootSync(object.SyncNamespace, string(o.Sync))
	})
}

// owner is the RootSync that may have an object.
func (s *spaces) owner(id object.ID, declared bool) object.Sync {
	return s.standing(id, declared, true).Owner
}

// standing is that of the RootSync in the contest for an object.
func (s *spaces) standing(id object.ID, declared, exists bool) object.Standing {
	if id.IsNamespace() {
		return s.rulings[id.Name].Standing(s.in.Sync)
	}
	return object.Stand(s.in.Sync, s.in.declarers(id, declared), func(who object.Sync) object.Right { return s.in.right(who, id, exists) })
}

// inScope says whether the configuration lets RootSyncs write an object. One whose namespace
// could not be read counts by its name.
func (s *spaces) inScope(id object.ID, labels map[string]string) bool {
	var around metav1.Object
	if live := s.live[namespaces.Around(id)].live; live != nil {
		around = live
	}
	return namespaces.InScope(s.in.Scope, id, around, labels)
}

// missing says why an object cannot be written before its namespace is there; made says
// that this very sync makes it.
func (s *spaces) missing(namespace string) (why string, made bool) {
	found := s.live[namespace]
	switch {
	case namespace == "" || namespace == object.SyncNamespace || found.unread:
		return "", false
	case found.live != nil && found.live.DeletionTimestamp == nil:
		return "", false
	case found.live != nil:
		return "namespace " + namespace + " is being deleted", false
	case s.declared.Has(namespace) && s.owner(object.NamespaceID(namespace), true) == s.in.Sync, slices.Contains(s.made, namespace):
		return "its namespace is made first", true
	}
	return "namespace " + namespace + " is not there, and this RootSync does not make it", false
}

// inUse says why a Namespace, or a CustomResourceDefinition, has to stay, and who keeps it otherwise.
func (s *spaces) inUse(id object.ID) (why, keptBy string) {
	switch {
	case plan.IsCRD(id):
		gk := s.in.Kinds.definedBy(id)
		if gk.Kind == "" {
			return "", ""
		}
		return plan.StillInUse(id, false, s.in.users(gk)), ""
	case !id.IsNamespace():
		return "", ""
	case s.withheld[id.Name] != nil:
		return plan.StillInUse(id, false, []string{"users that cannot be read: " + s.withheld[id.Name].Error()}), ""
	}
	own := slices.ContainsFunc(s.in.Declared, func(d object.Declared) bool { return d.Object.GetNamespace() == id.Name })
	switch fate, users, _ := s.rulings[id.Name].FateOf(s.in.Sync); {
	case fate == namespaces.Keep:
		return plan.StillInUse(id, own, users), ""
	case fate == namespaces.LetGo && !own:
		return "", strings.Join(users, ", ")
	}
	return plan.StillInUse(id, own, nil), ""
}

// along says whether an object is a namespace that was made along the way, of which the
// explicit strategy lets go.
func (s *spaces) along(id object.ID) bool {
	live := s.live[id.Name].live
	return id.IsNamespace() && live != nil && namespaces.Along(live)
}

// claims are the namespaces on which the RootSync would have its claim written.
func (s *spaces) claims() []Change {
	var out []Change
	for _, name := range s.in.concerned() {
		ruling, live := s.rulings[name], s.live[name].live
		if ruling.Write == nil || !ruling.There || live == nil || s.stands(name, live) || !s.inScope(object.NamespaceID(name), nil) {
			continue
		}
		out = append(out, Change{Action: Claim, ID: object.NamespaceID(name), APIVersion: "v1", Reason: ruling.Why})
	}
	return out
}

// stands says whether what this RootSync claims is on the namespace already. What others
// would have to write there is not told by their inventories.
func (s *spaces) stands(name string, live *metav1.PartialObjectMetadata) bool {
	mine := map[namespaces.How]ownership.How{namespaces.Declares: ownership.Declared, namespaces.Makes: ownership.Implicit}
	stake, has := s.stakes[name][s.in.Sync]
	verdict, err := ownership.Decide(live)
	if err != nil {
		return true
	}
	i := slices.IndexFunc(verdict.Claims, func(c ownership.Claim) bool {
		return c.Claimant == ownership.RootSync(object.SyncNamespace, string(s.in.Sync))
	})
	if i < 0 {
		// An implicit claim does not count on what was there before.
		return !has || stake.How != namespaces.Declares
	}
	return has && mine[stake.How] == verdict.Claims[i].How
}
