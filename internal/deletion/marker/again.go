// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// What has been seen is looked at again when a protection, the labels of a
// namespace or the configuration change.

// ProtectionChanged takes in that a protection came, changed or went. The set
// has it already.
func (m *Marker) ProtectionChanged(before, after *selection.Protection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running {
		return
	}
	m.Wake()
	for _, p := range []*selection.Protection{before, after} {
		if p == nil {
			continue
		}
		for _, sel := range p.Selectors {
			m.selected(sel)
		}
	}
	if after == nil && before != nil {
		delete(m.matches, before.Name)
	}
}

// selected looks again at the objects that a selector may select.
func (m *Marker) selected(sel selection.Selector) {
	if m.kinds == nil {
		return
	}
	kind, ok := m.kinds.ByKind(sel.Kind)
	m.frontedAgain(&kind)
	s := inventory.Source{Resource: kind.Resource}
	if !ok || m.sources[s] == nil {
		return // it is going to be watched, and then everything is looked at
	}
	if sel.Names != nil && (sel.Namespace != "" || !kind.Namespaced) {
		for name := range sel.Names {
			if o := m.watches.Object(s, sel.Namespace, name); o != nil {
				m.again(s, o)
			}
		}
		return
	}
	for _, o := range m.watches.Objects(s, sel.Namespace) {
		if sel.Names == nil || sel.Names.Has(o.Name) {
			m.again(s, o)
		}
	}
}

// again looks again at an object, in the latest state that is known.
func (m *Marker) again(s inventory.Source, o *metav1.PartialObjectMetadata) {
	if k := m.known[o.UID]; k != nil && older(o, k.meta) {
		o = k.meta
	}
	m.seen(s, o)
}

// inNamespace looks again at what is in a namespace whose labels may have
// changed.
func (m *Marker) inNamespace(name string) {
	for s := range m.sources {
		if s.Label != "" || s.Resource == namespaces {
			continue
		}
		for _, o := range m.watches.Objects(s, name) {
			m.again(s, o)
		}
	}
	for _, k := range slices.Collect(maps.Values(m.known)) {
		if k.meta.Namespace == name {
			if s, ok := k.sources.Clone().PopAny(); ok {
				m.again(s, k.meta)
			}
		}
	}
}

// lookAgain looks at everything, because the configuration has changed.
func (m *Marker) lookAgain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.sources {
		for _, o := range m.watches.Objects(s, "") {
			m.again(s, o)
		}
	}
}

func sameSettings(a, b Settings) bool { return reflect.DeepEqual(a, b) }
