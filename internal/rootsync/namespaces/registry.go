// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Wants is what one RootSync wants of all namespaces.
type Wants struct {
	// Since is when it was created.
	Since time.Time
	// Declared are the Namespaces in its source.
	Declared []string
	// Needed are the namespaces of its objects.
	Needed []string
	// Makes says that it makes what it needs and is not there: strategy "implicit".
	Makes bool
	// Anchored are those for which its source has an anchor, which makes them: it would be
	// refused if they were there.
	Anchored []string
}

var anchorKind = schema.GroupKind{Group: hncv1alpha2.GroupName, Kind: "SubnamespaceAnchor"}

// WantsOf is what objects want of namespaces. What is declared as not managed neither
// claims nor needs anything.
func WantsOf(objects []object.Declared, created time.Time, makes bool) Wants {
	w := Wants{Since: created, Makes: makes}
	needed := sets.New[string]()
	for _, d := range objects {
		if d.Disabled() {
			continue
		}
		if id := d.ID(); id.IsNamespace() {
			w.Declared = append(w.Declared, id.Name)
		} else if id.Namespace != "" {
			needed.Insert(id.Namespace)
			if id.GroupKind() == anchorKind {
				w.Anchored = append(w.Anchored, id.Name)
			}
		}
	}
	w.Needed = sets.List(needed)
	return w
}

func (w Wants) stakes() map[string]Stake {
	out := make(map[string]Stake, len(w.Declared)+len(w.Needed))
	for _, name := range w.Needed {
		how := Needs
		if w.Makes && !slices.Contains(w.Anchored, name) {
			how = Makes
		}
		if name != "" && name != object.SyncNamespace { // nobody makes or declares the namespace of the RootSyncs
			out[name] = Stake{How: how, Since: w.Since}
		}
	}
	for _, name := range w.Declared {
		out[name] = Stake{How: Declares, Since: w.Since}
	}
	return out
}

// Registry knows what all RootSyncs want. Until each that there was at the start has
// said so once, nobody can tell whose a namespace is.
type Registry struct {
	mu sync.Mutex
	// expected are those that have not said yet; nil before it is known who there is.
	expected sets.Set[object.Sync]
	// silent are those that were waited for and have never said, with the namespaces that
	// they have to do with by their inventory.
	silent map[object.Sync]sets.Set[string]
	stakes map[object.Sync]map[string]Stake
	byName map[string]Stakes
}

// NewRegistry makes a Registry that knows nothing.
func NewRegistry() *Registry {
	return &Registry{silent: map[object.Sync]sets.Set[string]{}, stakes: map[object.Sync]map[string]Stake{}, byName: map[string]Stakes{}}
}

// Expect says which RootSyncs there are, once, at the start.
func (r *Registry) Expect(syncs ...object.Sync) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for who := range r.expected.Difference(sets.New(syncs...)) {
		r.silent[who] = nil
	}
	r.expected = sets.New(syncs...)
	for who := range r.stakes {
		r.expected.Delete(who)
	}
}

// Missing are the RootSyncs that have not said yet what they want; known is false
// before it is known which there are.
func (r *Registry) Missing() (missing []object.Sync, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sets.List(r.expected), r.expected != nil
}

// Complete says whether all RootSyncs have said what they want.
func (r *Registry) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expected != nil && r.expected.Len() == 0
}

// Set says what a RootSync wants from now on, and returns the namespaces for which
// that is something else than before.
func (r *Registry) Set(who object.Sync, w Wants) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.speaks(who, r.put(who, w.stakes()))
}

// Excuse says that nobody need wait for a RootSync: it cannot say what it wants now. What
// it has said stays in force, and if it has said nothing what it has claimed, and what it
// has by its inventory.
func (r *Registry) Excuse(who object.Sync, has ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected.Delete(who)
	if _, said := r.stakes[who]; !said {
		r.silent[who] = sets.New(has...)
	}
}

// Spoken says whether a RootSync has said what it wants, or was excused with what it has.
func (r *Registry) Spoken(who object.Sync) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, said := r.stakes[who]
	return said || r.silent[who] != nil
}

// Said says whether a RootSync has said what it wants.
func (r *Registry) Said(who object.Sync) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, said := r.stakes[who]
	return said
}

// Forget says that there is no such RootSync any more.
func (r *Registry) Forget(who object.Sync) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.speaks(who, r.put(who, nil))
}

// speaks takes in that nobody waits for a RootSync any more. What one claims that was
// silent is not known here, so that all namespaces may have changed.
func (r *Registry) speaks(who object.Sync, changed []string) []string {
	r.expected.Delete(who)
	if _, silent := r.silent[who]; !silent {
		return changed
	}
	delete(r.silent, who)
	return sets.List(sets.KeySet(r.byName).Insert(changed...))
}

func (r *Registry) put(who object.Sync, next map[string]Stake) []string {
	former := r.stakes[who]
	changed := sets.New[string]()
	for name := range former {
		if _, stays := next[name]; !stays {
			changed.Insert(name)
			delete(r.byName[name], who)
			if len(r.byName[name]) == 0 {
				delete(r.byName, name)
			}
		}
	}
	for name, stake := range next {
		if before, was := former[name]; was && before == stake {
			continue
		}
		changed.Insert(name)
		if r.byName[name] == nil {
			r.byName[name] = Stakes{}
		}
		r.byName[name][who] = stake
	}
	if r.stakes[who] = next; next == nil {
		delete(r.stakes, who)
	}
	return sets.List(changed)
}

// Stakes are what all RootSyncs want of a namespace. Those that are silent are in it.
func (r *Registry) Stakes(name string) Stakes {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := maps.Clone(r.byName[name])
	for who, has := range r.silent {
		if out == nil {
			out = Stakes{}
		}
		out[who] = Stake{How: Silent, Has: has.Has(name)}
	}
	return out
}

// Names are the namespaces that any RootSync has a stake in.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.byName))
}

// Of are the namespaces that a RootSync has a stake in, in the order of their names.
func (r *Registry) Of(who object.Sync) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.stakes[who]))
}
