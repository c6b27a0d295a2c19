// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// state is everything that is known. It belongs to who holds the World's lock.
type state struct {
	settings  settings.Settings
	resources []Resource
	// meant are the groups of the entries among them that say none.
	meant map[string]string

	tree        *tree.Tree
	sources     *propagate.Sources
	namespaces  map[string]*corev1.Namespace
	configs     map[string]*hncv1alpha2.HierarchyConfiguration
	anchors     map[string]map[string]*hncv1alpha2.SubnamespaceAnchor
	hnc         *hncv1alpha2.HNCConfiguration
	definitions map[inventory.ObjectSource]definition

	// synced are the sources of the tree that are known, and blind those that cannot
	// be watched now: what is known of them may be of yesterday.
	synced, blind sets.Set[inventory.ObjectSource]
	// turn counts the sources of kinds that were started.
	turn int
	// complete says that the tree is known.
	complete bool
	kinds    map[inventory.ObjectSource]*kind
	// once are the kinds whose copies were looked at once.
	once sets.Set[schema.GroupKind]

	objects  map[propagate.Key]map[string]*Source
	copies   map[propagate.Key]map[string]*Copy
	copiesIn map[string]sets.Set[propagate.Key]
	// boundSources are the RoleBindings that are no copies, and boundCopies those that are.
	boundSources, boundCopies bound
	// total is how many copies there are, and external how many namespaces whose
	// labels are somebody else's.
	total, external int
	// ended are objects that went lately.
	ended ended
}

// ended remembers the last few objects that went: the answer to a write can come
// after the news that somebody has deleted what was written.
type ended struct {
	uids  sets.Set[types.UID]
	order [256]types.UID
	next  int
}

func (e *ended) add(uid types.UID) {
	if e.uids == nil {
		e.uids = sets.New[types.UID]()
	}
	e.uids.Delete(e.order[e.next])
	e.uids.Insert(uid)
	e.order[e.next] = uid
	e.next = (e.next + 1) % len(e.order)
}

// kind is one that is copied.
type kind struct {
	inventory.Kind
	mode    hncv1alpha2.SynchronizationMode
	synced  bool
	failing string
}

// Source is an object that is no copy. It does not change.
type Source struct {
	Object *unstructured.Unstructured
	// Digest is that of its copies.
	Digest propagate.Digest
	// Role is the name of the Role that a RoleBinding refers to, and Rules the digest of the rules of a Role.
	Role, Rules string
}

func newState(s settings.Settings) *state {
	return &state{
		settings: s, tree: tree.New(s.Tree(false)), sources: propagate.NewSources(s.Rules(nil)),
		namespaces: map[string]*corev1.Namespace{}, configs: map[string]*hncv1alpha2.HierarchyConfiguration{},
		anchors: map[string]map[string]*hncv1alpha2.SubnamespaceAnchor{},
		synced:  sets.New[inventory.ObjectSource](), blind: sets.New[inventory.ObjectSource](), kinds: map[inventory.ObjectSource]*kind{},
		once:    sets.New[schema.GroupKind](),
		objects: map[propagate.Key]map[string]*Source{}, copies: map[propagate.Key]map[string]*Copy{},
		copiesIn: map[string]sets.Set[propagate.Key]{}, boundSources: bound{}, boundCopies: bound{}, definitions: map[inventory.ObjectSource]definition{},
	}
}

// modes are those of the kinds that are followed.
func (s *state) modes() map[schema.GroupKind]hncv1alpha2.SynchronizationMode {
	out := map[schema.GroupKind]hncv1alpha2.SynchronizationMode{}
	for _, k := range s.kinds {
		out[k.GroupKind()] = k.mode
	}
	return out
}

// kindOf is the one that is followed, or nil.
func (s *state) kindOf(gk schema.GroupKind) *kind {
	for _, k := range s.kinds {
		if k.GroupKind() == gk {
			return k
		}
	}
	return nil
}

func (s *state) putSource(k propagate.Key, namespace string, o *Source) {
	if s.objects[k] == nil {
		s.objects[k] = map[string]*Source{}
	}
	at := CopyRef{k, namespace}
	if before := s.objects[k][namespace]; before != nil {
		s.boundSources.drop(before.Role, at)
	}
	s.boundSources.add(o.Role, at)
	s.objects[k][namespace] = o
}

func (s *state) dropSource(k propagate.Key, namespace string) (had bool) {
	before, had := s.objects[k][namespace]
	if !had {
		return false
	}
	s.boundSources.drop(before.Role, CopyRef{k, namespace})
	dropFrom(s.objects, k, namespace)
	return true
}

func (s *state) putCopy(k propagate.Key, c *Copy) {
	if s.copies[k] == nil {
		s.copies[k] = map[string]*Copy{}
	}
	if s.copiesIn[c.Namespace] == nil {
		s.copiesIn[c.Namespace] = sets.New[propagate.Key]()
	}
	at := CopyRef{k, c.Namespace}
	if before := s.copies[k][c.Namespace]; before == nil {
		s.total++
	} else {
		s.boundCopies.drop(before.Role, at)
	}
	s.boundCopies.add(c.Role, at)
	s.copies[k][c.Namespace] = c
	s.copiesIn[c.Namespace].Insert(k)
}

func (s *state) dropCopy(k propagate.Key, namespace string) (had bool) {
	before, had := s.copies[k][namespace]
	if !had {
		return false
	}
	s.total--
	s.boundCopies.drop(before.Role, CopyRef{k, namespace})
	dropFrom(s.copies, k, namespace)
	dropFrom(s.copiesIn, namespace, k)
	return true
}

// dropFrom takes something out of a map of maps, and leaves no empty one.
func dropFrom[A, B comparable, V any, M ~map[B]V](from map[A]M, a A, b B) {
	delete(from[a], b)
	if len(from[a]) == 0 {
		delete(from, a)
	}
}

// forget takes out all objects of a kind.
func (s *state) forget(gk schema.GroupKind) {
	for k, in := range s.objects {
		if k.Kind == gk {
			for namespace := range maps.Clone(in) {
				s.sources = s.sources.Without(k, namespace)
				s.dropSource(k, namespace)
			}
		}
	}
	for k, in := range s.copies {
		if k.Kind == gk {
			for namespace := range maps.Clone(in) {
				s.dropCopy(k, namespace)
			}
		}
	}
}
