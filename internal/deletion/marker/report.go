// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Report is what is known of a protection.
type Report struct {
	Matches       v1alpha1.Matches
	Unenforceable []v1alpha1.Unenforceable
	// Complete is false while not all objects of its kinds have been seen, or it is
	// not known yet whether an extension API server asks the policies about them.
	Complete bool
}

// listed bounds the lists of a status.
const listed = 32

// Report says what a protection selects now and what of it is not enforced.
func (m *Marker) Report(p *selection.Protection) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kinds == nil {
		return Report{}
	}
	r := Report{Complete: true}
	var counted []v1alpha1.KindMatches
	for kind, n := range m.matches[p.Name] {
		r.Matches.Total += int64(n)
		if n > 0 {
			counted = append(counted, v1alpha1.KindMatches{Group: kind.Group, Kind: kind.Kind, Count: int64(n)})
		}
	}
	slices.SortFunc(counted, func(a, b v1alpha1.KindMatches) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	r.Matches.Kinds = counted[:min(len(counted), listed)]
	for _, kind := range kindsOf(p) {
		reason, message, complete := m.obstacle(kind, m.matches[p.Name][kind] > 0)
		r.Complete = r.Complete && complete
		if reason != "" && len(r.Unenforceable) < listed {
			r.Unenforceable = append(r.Unenforceable, v1alpha1.Unenforceable{Group: kind.Group, Kind: kind.Kind, Reason: reason, Message: message})
		}
	}
	return r
}

// kindsOf are the kinds that a protection names, each once, in order.
func kindsOf(p *selection.Protection) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, s := range p.Selectors {
		kinds = append(kinds, s.Kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(kinds)
}

// obstacle says why objects of a kind are not protected, if they are not, and
// whether that is known of all of them; selected is whether there are any.
func (m *Marker) obstacle(gk schema.GroupKind, selected bool) (reason v1alpha1.UnenforceableReason, message string, complete bool) {
	kind, ok := m.kinds.ByKind(gk)
	if !ok {
		return v1alpha1.NoSuchKind, "the API server does not serve this kind; what is selected of it is protected from when it does", true
	}
	if reason, message := unguarded(kind); reason != "" {
		return reason, message, true
	}
	asks, known := m.asksPolicies(kind)
	if known && !asks {
		return v1alpha1.AdmissionNotRun, asksNoPolicy, true
	}
	src := m.sources[inventory.Source{Resource: kind.Resource}]
	switch {
	case src != nil && src.err != "" && m.o.Clock.Since(src.since) > m.o.Pauses.UnwatchedKind:
		return v1alpha1.NotMarked, "objects of this kind cannot be watched: " + src.err, false
	case len(m.unmarked[gk]) > 0:
		return v1alpha1.NotMarked, refusals(m.unmarked[gk]), true
	}
	return "", "", src != nil && src.synced && (known || !selected)
}

// refusals says how many objects cannot be marked, and of the first why.
func refusals(of map[target]string) string {
	first := slices.MinFunc(slices.Collect(maps.Keys(of)), func(a, b target) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return fmt.Sprintf("the API server refuses to have objects marked: %d, the first %s", len(of), of[first])
}

// unguarded says why no object of a kind can be protected, if that is so.
func unguarded(kind inventory.Kind) (reason v1alpha1.UnenforceableReason, message string) {
	switch {
	case policy.BeyondAdmission(kind.GroupResource()):
		return v1alpha1.BeyondAdmission, "the API server asks no policy about objects of this kind; guard them by RBAC"
	case events.Has(kind.GroupResource()):
		return v1alpha1.NotDeletable, "Events end by themselves; none is protected"
	case !Guarded(kind):
		return v1alpha1.NotDeletable, "an object of this kind cannot be listed, watched, patched and deleted"
	}
	return "", ""
}
