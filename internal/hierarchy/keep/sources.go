// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// source tells why a source is not copied.
func (k *Keeper) source(i item) {
	p := k.o.World.Source(world.CopyRef{Key: propagate.Key{Kind: i.kind, Name: i.name}, Namespace: i.namespace})
	if p == nil {
		return
	}
	warn := func(reason, text string) {
		k.o.Events.Eventf(p.Object, nil, corev1.EventTypeWarning, reason, "Propagate", "%s", text)
	}
	switch {
	case p.Problem != nil:
		warn(hncv1alpha2.EventCannotParseSelector, fmt.Sprintf("is not copied, since it cannot be told where to: %v", p.Problem))
	case p.Held:
		warn(hncv1alpha2.EventCannotPropagate, "is not copied while it has finalizers; copies that are there stay as they are")
	}
	for _, text := range withheld(p.Source, p.Withheld) {
		warn(hncv1alpha2.EventCannotPropagate, text)
	}
}

// advice is what to do about each reason to withhold a RoleBinding; %q is the name of the Role.
var advice = []struct {
	reason propagate.Reason
	text   string
}{
	{propagate.RoleMissing, "the Role %q, to which it refers, does not exist here: create it, or let the RoleBinding refer to a ClusterRole"},
	{propagate.RoleNotCopied, "the Role %q, to which it refers, is not copied there: take away what excludes that, exclude the RoleBinding too, or let it refer to a ClusterRole"},
	{propagate.RoleDiffers, "the Role %q there is not a copy of the one to which it refers: rename one of them, exclude the RoleBinding, or let it refer to a ClusterRole"},
	{propagate.RolePending, "the Role %q, to which it refers, cannot be copied there: see the events of that Role"},
}

// withheld returns a sentence for each reason for which a RoleBinding is not copied to some namespaces.
func withheld(source *propagate.Source, places []world.Withheld) []string {
	const most = 3
	var out []string
	for _, a := range advice {
		var names []string
		for _, w := range places {
			if w.Reason == a.reason {
				names = append(names, w.Namespace)
			}
		}
		if len(names) == 0 {
			continue
		}
		if more := len(names) - most; more > 0 {
			names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
		}
		out = append(out, fmt.Sprintf("is not copied to %s, where it would not grant what it grants here: %s", strings.Join(names, ", "), fmt.Sprintf(a.text, source.Role)))
	}
	return out
}
