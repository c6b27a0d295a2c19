// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	corev1 "k8s.io/api/core/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// source tells why a source is not copied.
func (k *Keeper) source(i item) {
	p := k.o.World.Source(world.CopyRef{Key: propagate.Key{Kind: i.kind, Name: i.name}, Namespace: i.namespace})
	switch {
	case p == nil:
	case p.Problem != nil:
		k.o.Events.Eventf(p.Object, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotParseSelector, "Propagate",
			"is not copied, since it cannot be told where to: %v", p.Problem)
	case p.Held:
		k.o.Events.Eventf(p.Object, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotPropagate, "Propagate",
			"is not copied while it has finalizers; copies that are there stay as they are")
	}
}
