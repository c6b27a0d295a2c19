// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// followed is a template by which accounts are wanted.
type followed struct {
	mapping *mapping.Mapping
	source  inventory.ObjectSource
	// wants of each object.
	wants map[types.NamespacedName][]mapping.Want
}

// sawObject takes in an object of a template, or that it is gone. What it wants is told
// before the lock is taken: expressions take their time, and all others would wait.
// Nobody else tells of the object meanwhile, for a source has one that does.
func (k *known) sawObject(s inventory.ObjectSource, key types.NamespacedName, u *unstructured.Unstructured) {
	told := map[*followed][]mapping.Want{}
	for _, f := range k.of(s) {
		told[f] = nil
		if u != nil {
			told[f] = f.mapping.Wants(u)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for f, wants := range told {
		// One that has come meanwhile has looked at all objects, this one among them.
		if k.mappings[f.mapping.Name] == f {
			k.want(f, key, wants)
			k.counted(f.mapping.Name)
		}
	}
}

// of are the templates whose objects a source has.
func (k *known) of(s inventory.ObjectSource) (out []*followed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.mappings {
		if f.source == s {
			out = append(out, f)
		}
	}
	return out
}

// want replaces what an object wants by a template.
func (k *known) want(f *followed, object types.NamespacedName, wants []mapping.Want) {
	stale := map[types.NamespacedName]bool{}
	for _, w := range f.wants[object] {
		at := types.NamespacedName{Namespace: object.Namespace, Name: w.Name}
		delete(k.account(at).wants, wantID{f.mapping.Name, w.Account, object})
		stale[at] = true
	}
	if len(wants) == 0 {
		delete(f.wants, object)
	} else {
		f.wants[object] = wants
	}
	for _, w := range wants {
		at := types.NamespacedName{Namespace: object.Namespace, Name: w.Name}
		a := k.account(at)
		a.wants[wantID{f.mapping.Name, w.Account, object}] = w
		a.orphaned = w.Source.Orphaning || a.orphaned && w.Source.Deleting
		stale[at] = true
	}
	for at := range stale {
		k.account(at).count(k.clock.Now())
		k.touch(at)
		k.tidy(at)
	}
}

// everyObject are the objects of a source that are known now.
type everyObject func(inventory.ObjectSource) []metav1.Object

// set replaces the templates, and returns the sources that none of them has any more.
// The objects that are known already tell what a new one wants.
func (k *known) set(
	mappings map[string]*mapping.Mapping, incomplete bool, sourceOf func(*mapping.Mapping) inventory.ObjectSource, all everyObject,
) (stopped []inventory.ObjectSource) {
	told := k.foretell(mappings, sourceOf, all)
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.replace(mappings, sourceOf)
	// What a new one wants comes before what an old one does not want any more, so that
	// an account which both want stays.
	for name, f := range k.mappings {
		if f != before[name] {
			k.wantAll(f, told[f.mapping], all)
		}
	}
	for name, f := range before {
		if k.mappings[name] != f {
			k.drop(f)
		}
		if !k.has(f.source) {
			stopped = append(stopped, f.source)
			k.synced.Delete(f.source)
			delete(k.failing, f.source)
		}
	}
	k.settle()
	if k.incomplete != incomplete {
		k.incomplete = incomplete
		k.touchAll()
	}
	return stopped
}

// foretold is what objects want by one template.
type foretold map[*unstructured.Unstructured][]mapping.Want

// foretell says what the objects want by the templates that are new, before the lock is
// taken. Nobody but who sets templates changes them.
func (k *known) foretell(mappings map[string]*mapping.Mapping, sourceOf func(*mapping.Mapping) inventory.ObjectSource, all everyObject) map[*mapping.Mapping]foretold {
	k.mu.Lock()
	before := maps.Clone(k.mappings)
	k.mu.Unlock()
	out := map[*mapping.Mapping]foretold{}
	for name, m := range mappings {
		source := sourceOf(m)
		if old := before[name]; old != nil && old.mapping == m && old.source == source || source == (inventory.ObjectSource{}) {
			continue
		}
		out[m] = foretold{}
		for _, o := range all(source) {
			if u, ok := o.(*unstructured.Unstructured); ok {
				out[m][u] = m.Wants(u)
			}
		}
	}
	return out
}

// wantAll takes in what all objects want by a template that is new. Those that have
// changed since it was told are another by now.
func (k *known) wantAll(f *followed, told foretold, all everyObject) {
	if f.source == (inventory.ObjectSource{}) {
		return
	}
	for _, o := range all(f.source) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		wants, known := told[u]
		if !known {
			wants = f.mapping.Wants(u)
		}
		k.want(f, types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}, wants)
	}
}

// replace puts templates in place of those that were followed, which it returns; one that
// is the same stays.
func (k *known) replace(mappings map[string]*mapping.Mapping, sourceOf func(*mapping.Mapping) inventory.ObjectSource) (before map[string]*followed) {
	before = k.mappings
	k.mappings = map[string]*followed{}
	for name, m := range mappings {
		source := sourceOf(m)
		if old := before[name]; old != nil && old.mapping == m && old.source == source {
			k.mappings[name] = old
			continue
		}
		k.mappings[name] = &followed{mapping: m, source: source, wants: map[types.NamespacedName][]mapping.Want{}}
		k.counted(name)
	}
	return before
}

// drop takes away what objects want by a template that is gone, unless its successor of
// the same name wants it.
func (k *known) drop(f *followed) {
	next := k.mappings[f.mapping.Name]
	for object, wants := range f.wants {
		for i := range wants {
			at := types.NamespacedName{Namespace: object.Namespace, Name: wants[i].Name}
			a := k.accounts[at]
			if a == nil {
				continue
			}
			id := wantID{f.mapping.Name, wants[i].Account, object}
			if next == nil || !wantedAt(next.wants[object], id.account, wants[i].Name) {
				delete(a.wants, id)
				a.count(k.clock.Now())
			}
			k.touch(at)
			k.tidy(at)
		}
	}
}

// count notes since when nobody wants an account.
func (a *account) count(now time.Time) {
	switch {
	case len(a.wants) > 0:
		a.unwanted = time.Time{}
	case a.unwanted.IsZero():
		a.unwanted = now
	}
}

func wantedAt(wants []mapping.Want, id, name string) bool {
	for i := range wants {
		if wants[i].Account == id && wants[i].Name == name {
			return true
		}
	}
	return false
}

func (k *known) has(s inventory.ObjectSource) bool {
	for _, f := range k.mappings {
		if f.source == s {
			return true
		}
	}
	return false
}

// sources are those of all templates.
func (k *known) sources() []inventory.ObjectSource {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []inventory.ObjectSource
	for _, f := range k.mappings {
		if f.source != (inventory.ObjectSource{}) {
			out = append(out, f.source)
		}
	}
	return out
}

// check looks whether everything is known.
func (k *known) check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settle()
}
