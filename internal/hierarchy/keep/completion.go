// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// completion says on a namespace whether all that is copied into it is there.
func (k *Keeper) completion(ctx context.Context, name string) error {
	p := k.o.World.Namespace(name)
	if p == nil {
		k.progress.said(name)
		return nil
	}
	complete, problem, known := k.progressOf(p)
	if !known {
		return nil
	}
	want := completeness(p, k.condition(p), complete, problem)
	if want != nil {
		want.LastTransitionTime = metav1.Time{Time: k.o.Clock.Now()}
		body, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": p.Namespace.UID},
			"status":   map[string]any{"conditions": []any{want}},
		})
		if err != nil {
			return fmt.Errorf("encode the condition: %w", err)
		}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err = k.o.Client.Status().Patch(ctx, ns, client.RawPatch(types.StrategicMergePatchType, body), client.FieldOwner(fieldManager))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("say whether all is copied: %w", err)
		}
		k.told.Add(name, told{k.stamp(ns.ResourceVersion), want})
		writes.WithLabelValues("completion").Inc()
	}
	if complete {
		k.progress.said(name)
	}
	return nil
}

// progressOf returns how the copies of a namespace stand. Known is false where nothing is to be said of it.
func (k *Keeper) progressOf(p *world.NamespacePlan) (complete bool, problem string, known bool) {
	complete, problem, known = k.progress.of(p.Namespace.Name)
	for _, u := range p.Unknown {
		complete = false
		if u.Failing != "" && problem == "" {
			problem = fmt.Sprintf("%s cannot be watched: %s", u.Kind.GroupResource(), u.Failing)
		}
	}
	return complete, problem, known
}

// astray reports whether a namespace has another condition than it should have: a replica that did not know yet that it leads
// no more has written it, or a user has changed or removed it. Copies that are on their way make no condition wrong.
func (k *Keeper) astray(p *world.NamespacePlan) bool {
	have := k.condition(p)
	complete, problem, _ := k.progressOf(p)
	switch {
	case have == nil:
		_, told := k.told.Get(p.Namespace.Name)
		return told
	case problem == "" && !complete:
		return have.Status != corev1.ConditionTrue
	}
	return completeness(p, have, complete, problem) != nil
}

// putBack requeues a namespace whose condition is not as it should be, after a pause, so that a client that keeps overwriting the
// condition causes one write per pause.
func (k *Keeper) putBack(p *world.NamespacePlan) {
	if !k.astray(p) {
		return
	}
	name := p.Namespace.Name
	k.progress.moved(sets.New(name))
	k.later(item{what: aCompletion, name: name}, k.o.Pauses.TreeStatus)
}

// told is the condition that was written last, with the version that came of it.
type told struct {
	stamp
	condition *corev1.NamespaceCondition
}

// condition is the one that a namespace has; nil if it has none. The watch can be
// behind what was written.
func (k *Keeper) condition(p *world.NamespacePlan) *corev1.NamespaceCondition {
	if last, ok := k.told.Get(p.Namespace.Name); ok && k.behind(last.(told).stamp, p.Namespace.ResourceVersion) {
		return last.(told).condition
	}
	if i := slices.IndexFunc(p.Namespace.Status.Conditions, ofPropagation); i >= 0 {
		return &p.Namespace.Status.Conditions[i]
	}
	return nil
}

// completeness is the condition that a namespace should get; nil if it has that,
// or needs none. A namespace without a parent gets none of its own.
func completeness(p *world.NamespacePlan, have *corev1.NamespaceCondition, complete bool, problem string) *corev1.NamespaceCondition {
	o := p.Outcome
	switch {
	case o.Terminating, have == nil && (o.Parent == "" || !o.Managed):
		return nil
	case problem != "":
		return unless(have, corev1.ConditionFalse, "CannotCopy", problem)
	case have == nil && (o.Halted() || !complete):
		return nil // nobody was told yet that it is complete
	case o.Halted():
		return unless(have, corev1.ConditionFalse, "Halted", "nothing is copied here while the tree is halted: see the HierarchyConfiguration")
	case !complete:
		return unless(have, corev1.ConditionFalse, "Copying", "the namespace stands elsewhere than before, and what is copied into it is on its way")
	}
	return unless(have, corev1.ConditionTrue, "Copied", "everything that is copied into the namespace is there")
}

func ofPropagation(c corev1.NamespaceCondition) bool {
	return c.Type == v1alpha1.ConditionPropagationComplete
}

// unless makes a condition, or nil if it is there.
func unless(have *corev1.NamespaceCondition, status corev1.ConditionStatus, reason, message string) *corev1.NamespaceCondition {
	if have != nil && have.Status == status && have.Reason == reason && have.Message == message {
		return nil
	}
	return &corev1.NamespaceCondition{Type: v1alpha1.ConditionPropagationComplete, Status: status, Reason: reason, Message: message}
}
