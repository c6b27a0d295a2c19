// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// config brings the status of the HNCConfiguration to what it should be. There is
// always one, as in HNC.
func (k *Keeper) config(ctx context.Context) error {
	p := k.o.World.Config()
	if p == nil {
		return nil
	}
	countProblems(p.Problems)
	k.removals.consented(p.Config)
	have := p.Config
	if have == nil {
		have = &hncv1alpha2.HNCConfiguration{ObjectMeta: metav1.ObjectMeta{Name: hncv1alpha2.HNCConfigurationName}}
	}
	k.askRights(ctx, p)
	want := have.DeepCopy()
	want.Status = statusOf(p, k.lacking.of, have.Status, metav1.Time{Time: k.o.Clock.Now()})
	if c := k.held(p, have.Status); c != nil {
		want.Status.Conditions = append(want.Status.Conditions, *c)
	}
	var err error
	switch {
	case p.Config == nil:
		err = k.o.Client.Create(ctx, want, client.FieldOwner(fieldManager))
	case have.DeletionTimestamp != nil || sameStatus(have.Status, want.Status, true):
		return nil
	case sameStatus(have.Status, want.Status, false) && k.o.Clock.Since(k.counted) < k.o.Pauses.TreeCounts:
		k.later(item{what: theConfig}, k.o.Pauses.TreeCounts-k.o.Clock.Since(k.counted))
		return nil
	default:
		err = client.IgnoreNotFound(k.o.Client.Update(ctx, want, client.FieldOwner(fieldManager)))
	}
	if err != nil {
		return fmt.Errorf("write the HNCConfiguration: %w", err)
	}
	k.counted = k.o.Clock.Now()
	writes.WithLabelValues("hncconfiguration").Inc()
	return nil
}

// held is the condition that copies wait for consent; nil if none do. What an earlier process
// has said of that stays until everything is known that may wait: people would be asked anew.
func (k *Keeper) held(p *world.ConfigPlan, have hncv1alpha2.HNCConfigurationStatus) *metav1.Condition {
	if was := copiesHeld(have); was != nil && p.Reading {
		return was
	}
	h, held := k.removals.halted()
	if !held {
		return nil
	}
	return &metav1.Condition{
		Type: hncv1alpha2.ConditionOutOfSync, Status: metav1.ConditionTrue, Reason: hncv1alpha2.ReasonCopiesHeld,
		Message: h.Message(), LastTransitionTime: metav1.Time{Time: h.Since},
	}
}

// copiesHeld is the condition of a status that copies wait; nil if it has none.
func copiesHeld(s hncv1alpha2.HNCConfigurationStatus) *metav1.Condition {
	i := slices.IndexFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Type == hncv1alpha2.ConditionOutOfSync && c.Reason == hncv1alpha2.ReasonCopiesHeld
	})
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

// statusOf is the status that the HNCConfiguration should have. Lacks says which rights Holdfast lacks for a kind.
func statusOf(p *world.ConfigPlan, lacks func(schema.GroupKind) string, have hncv1alpha2.HNCConfigurationStatus, now metav1.Time) hncv1alpha2.HNCConfigurationStatus {
	var out hncv1alpha2.HNCConfigurationStatus
	add := func(kind, reason, message string) {
		is := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now}
		for _, was := range have.Conditions {
			if was.Type == is.Type && was.Reason == is.Reason {
				is.LastTransitionTime = was.LastTransitionTime
			}
		}
		out.Conditions = append(out.Conditions, is)
	}
	problems, unsynced := map[string][]string{}, []string(nil)
	for _, r := range p.Resources {
		if r.Problem != "" {
			problems[r.Problem] = append(problems[r.Problem], r.Message)
			continue
		}
		if r.Failing != "" {
			unsynced = append(unsynced, "objects cannot be watched: "+r.Kind.GroupResource().String()+": "+r.Failing)
		}
		if advice := lacks(r.Kind.GroupKind()); advice != "" {
			unsynced = append(unsynced, advice)
		}
		out.Resources = append(out.Resources, resourceOf(r, have.Resources))
	}
	for reason, messages := range problems {
		add(hncv1alpha2.ConditionBadConfiguration, reason, strings.Join(messages, "; "))
	}
	if len(unsynced) > 0 {
		add(hncv1alpha2.ConditionOutOfSync, hncv1alpha2.ReasonUnknown, strings.Join(unsynced, "; "))
	}
	for kind, names := range p.Conditions {
		add(hncv1alpha2.ConditionNamespace, kind, few(names))
	}
	slices.SortFunc(out.Conditions, byReason)
	slices.SortFunc(out.Resources, byResource)
	return out
}

// resourceOf is the status of one resource. As in HNC the name is that of the entry, and
// sources are counted where they are copied. While not all objects are known, after a
// start, what was counted before stays.
func resourceOf(r world.ResourceState, have []hncv1alpha2.ResourceStatus) hncv1alpha2.ResourceStatus {
	s := hncv1alpha2.ResourceStatus{Group: r.Group, Version: r.Kind.Resource.Version, Resource: r.ResourceSpec.Resource, Mode: r.Mode}
	switch {
	case r.Known:
		s.NumPropagatedObjects = new(r.Copies)
		if r.Mode != hncv1alpha2.ModeRemove {
			s.NumSourceObjects = new(r.Sources)
		}
	case r.Failing == "":
		for _, was := range have {
			if was.Group == s.Group && was.Resource == s.Resource && was.Mode == s.Mode {
				s.NumPropagatedObjects, s.NumSourceObjects = was.NumPropagatedObjects, was.NumSourceObjects
			}
		}
	}
	return s
}

// sameStatus says whether two say the same, in whatever order. What is ignored is
// not counted, so what was counted of it before may stay. Without counts it is enough
// that the same is counted.
func sameStatus(have, want hncv1alpha2.HNCConfigurationStatus, counts bool) bool {
	zero := func(n *int) *int {
		if n == nil {
			return nil
		}
		return new(0)
	}
	sorted := func(s hncv1alpha2.HNCConfigurationStatus) *hncv1alpha2.HNCConfigurationStatus {
		s = *s.DeepCopy()
		for i := range s.Resources {
			switch r := &s.Resources[i]; {
			case r.Mode == hncv1alpha2.ModeIgnore:
				r.NumPropagatedObjects, r.NumSourceObjects = nil, nil
			case !counts:
				r.NumPropagatedObjects, r.NumSourceObjects = zero(r.NumPropagatedObjects), zero(r.NumSourceObjects)
			}
		}
		slices.SortFunc(s.Resources, byResource)
		slices.SortFunc(s.Conditions, byReason)
		return &s
	}
	return equality.Semantic.DeepEqual(sorted(have), sorted(want))
}

func byResource(a, b hncv1alpha2.ResourceStatus) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
}

func byReason(a, b metav1.Condition) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Reason, b.Reason))
}

// few counts names and says the first three.
func few(names []string) string {
	const most = 3
	text := fmt.Sprintf("%d namespaces: %s", len(names), strings.Join(names[:min(most, len(names))], ", "))
	if len(names) == 1 {
		text = "1 namespace: " + names[0]
	}
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
