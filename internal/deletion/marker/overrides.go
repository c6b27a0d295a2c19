// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
)

// Stamp is an override that is in force for an object.
type Stamp struct {
	// Override is its name.
	Override string
	// Contents says that what hangs below the object goes with it.
	Contents bool
}

// Target is the object of an override.
type Target struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
	UID       types.UID
}

// SetOverride has the object carry a stamp, or none for nil. The object must
// exist; a kind that the API server does not serve is an error of nobody.
func (m *Marker) SetOverride(t Target, s *Stamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, had := m.overrides[t.UID]
	switch {
	case s == nil && !had:
		return
	case s == nil:
		delete(m.overrides, t.UID)
		if m.known[t.UID] == nil { // nothing is known of it but that it carries the stamp
			m.recent[t.UID] = marks.Set{v1alpha1.OverrideMark: {Value: before.stamp.Override}}
		}
	default:
		m.overrides[t.UID] = inForce{t, *s}
	}
	m.enqueueTarget(t)
}

// enqueueTarget has an object looked at that carries a stamp, or did. What the API
// server serves has to be known for that; when that changes it is done again.
func (m *Marker) enqueueTarget(t Target) {
	if m.kinds == nil {
		return
	}
	kind, ok := m.kinds.ByKind(t.Kind)
	if !ok {
		return
	}
	at := target{resource: kind.GroupResource(), namespace: t.Namespace, name: t.Name, uid: t.UID}
	if kind.Resource == namespaces || kind.Resource == inventory.CRDs {
		at.uid = ""
	}
	m.queue.Add(at)
}

// inForce is a stamp and what carries it.
type inForce struct {
	target Target
	stamp  Stamp
}
