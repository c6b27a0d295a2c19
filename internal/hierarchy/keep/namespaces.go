// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// namespace brings the labels of a namespace, its HierarchyConfiguration and its
// condition to what they should be.
func (k *Keeper) namespace(ctx context.Context, name string) error {
	p := k.o.World.Namespace(name)
	if p == nil {
		return nil
	}
	k.putBack(p)
	if p.DeletingCRD {
		return k.letGo(ctx, p)
	}
	err := k.label(ctx, p)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	return errors.Join(err, k.hierarchy(ctx, p))
}

// label writes the labels and annotations that a namespace should have. Where a policy refuses those that users choose for
// their subtrees, the others are written without them: they bound what users may do, and no user may hold them up.
func (k *Keeper) label(ctx context.Context, p *world.NamespacePlan) error {
	none := func(string) bool { return false }
	all := labelsPatch(p, none, none)
	err := k.patchLabels(ctx, p, all)
	if !apierrors.IsForbidden(err) {
		return err
	}
	others := labelsPatch(p, p.Settings.ManagedLabels().Has, p.Settings.ManagedAnnotations().Has)
	if equality.Semantic.DeepEqual(others, all) {
		return err
	}
	return errors.Join(err, k.patchLabels(ctx, p, others))
}

func (k *Keeper) patchLabels(ctx context.Context, p *world.NamespacePlan, patch map[string]any) error {
	if patch == nil {
		return nil
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode labels: %w", err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace.Name}}
	err = k.o.Client.Patch(ctx, ns, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("label the namespace: %w", err)
	}
	writes.WithLabelValues("namespace").Inc()
	return nil
}

// labelsPatch is a merge patch that gives a namespace the labels and annotations
// that it should have, but for some keys; nil if it has them, or is being deleted.
func labelsPatch(p *world.NamespacePlan, butLabels, butAnnotations func(key string) bool) map[string]any {
	if p.Namespace.DeletionTimestamp != nil {
		return nil
	}
	labels := difference(p.Namespace.Labels, marked(p), func(string) bool { return true })
	managed := p.Settings.ManagedAnnotations()
	annotations := difference(p.Namespace.Annotations, p.Outcome.Annotations, managed.Has)
	maps.DeleteFunc(labels, func(key string, _ any) bool { return butLabels(key) })
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return butAnnotations(key) })
	if len(labels)+len(annotations) == 0 {
		return nil
	}
	meta := map[string]any{"uid": p.Namespace.UID}
	for key := range labels {
		if tree.BoundsSecurity(key) { // an administrator may set another value right now
			meta["resourceVersion"] = p.Namespace.ResourceVersion
		}
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return map[string]any{"metadata": meta}
}

// marked are the labels that a namespace should have, with the mark that lets the
// API server refuse its deletion while Holdfast is down. HNC knows no such mark, so
// it comes with the first change of the children.
func marked(p *world.NamespacePlan) map[string]string {
	_, has := p.Namespace.Labels[v1alpha1.HasSubnamespacesMark]
	changed := p.Config == nil || !slices.Equal(p.Config.Status.Children, p.Outcome.Children)
	want := p.Outcome.Managed && p.Subnamespaces && (has || changed)
	if has == want {
		return p.Outcome.Labels
	}
	labels := maps.Clone(p.Outcome.Labels)
	if want {
		labels[v1alpha1.HasSubnamespacesMark] = v1alpha1.MarkSet
	} else {
		delete(labels, v1alpha1.HasSubnamespacesMark)
	}
	return labels
}

// difference is what a merge patch changes; nil takes a key away, if it is one of
// ours.
func difference(have, want map[string]string, ours func(key string) bool) map[string]any {
	out := map[string]any{}
	for key, value := range want {
		if was, has := have[key]; !has || was != value {
			out[key] = value
		}
	}
	for key := range have {
		if _, stays := want[key]; !stays && ours(key) {
			out[key] = nil
		}
	}
	return out
}

// hierarchy brings the HierarchyConfiguration of a namespace to what it should be.
// It is made when there is something to say.
func (k *Keeper) hierarchy(ctx context.Context, p *world.NamespacePlan) error {
	want := hierarchyOf(p, metav1.Time{Time: k.o.Clock.Now()})
	switch {
	case want == nil:
		return nil
	case p.Config == nil:
		err := k.o.Client.Create(ctx, want, client.FieldOwner(fieldManager))
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("make the HierarchyConfiguration: %w", err)
		}
	default:
		err := k.o.Client.Update(ctx, want, client.FieldOwner(fieldManager))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the HierarchyConfiguration: %w", err)
		}
	}
	writes.WithLabelValues("hierarchyconfiguration").Inc()
	return nil
}

// hierarchyOf is the HierarchyConfiguration that a namespace should have; nil if
// the one that it has is right, or if it needs none.
func hierarchyOf(p *world.NamespacePlan, now metav1.Time) *hncv1alpha2.HierarchyConfiguration {
	o, have := p.Outcome, p.Config
	if have == nil {
		have = &hncv1alpha2.HierarchyConfiguration{}
		have.Namespace, have.Name = p.Namespace.Name, hncv1alpha2.HierarchyConfigurationName
	}
	want := have.DeepCopy()
	if !o.Managed {
		// What it says stays, for the day on which the namespace is managed again.
		if p.Config == nil {
			return nil
		}
		controllerutil.RemoveFinalizer(want, hncv1alpha2.FinalizerHasSubnamespace)
		want.Status = hncv1alpha2.HierarchyConfigurationStatus{}
	} else {
		if o.Subnamespace {
			want.Spec = *o.Spec.DeepCopy()
		}
		setFinalizer(want, p)
		want.Status.Children = slices.Clone(o.Children)
		want.Status.Conditions = conditions(have.Status.Conditions, o.Conditions, now)
	}
	if equality.Semantic.DeepEqual(have, want) {
		return nil
	}
	if p.Config == nil && p.Namespace.DeletionTimestamp != nil {
		return nil // nothing can be made there any more
	}
	return want
}

// setFinalizer keeps a HierarchyConfiguration until the last anchor has gone, if
// the namespace goes: what it says about cascading deletion is needed to the end.
// One that is deleted by itself goes.
func setFinalizer(c *hncv1alpha2.HierarchyConfiguration, p *world.NamespacePlan) {
	switch {
	case p.Anchors == 0, c.DeletionTimestamp != nil && p.Namespace.DeletionTimestamp == nil:
		controllerutil.RemoveFinalizer(c, hncv1alpha2.FinalizerHasSubnamespace)
	case c.DeletionTimestamp == nil: // the API server takes no new finalizer then
		controllerutil.AddFinalizer(c, hncv1alpha2.FinalizerHasSubnamespace)
	}
}

// letGo lets a HierarchyConfiguration go with its CRD, and says so on it. All else
// stays as it is.
func (k *Keeper) letGo(ctx context.Context, p *world.NamespacePlan) error {
	if p.Config == nil {
		return nil
	}
	want := p.Config.DeepCopy()
	setFinalizer(want, p)
	want.Status.Conditions = conditions(p.Config.Status.Conditions, p.Outcome.Conditions, metav1.Time{Time: k.o.Clock.Now()})
	if equality.Semantic.DeepEqual(want, p.Config) {
		return nil
	}
	err := k.o.Client.Update(ctx, want, client.FieldOwner(fieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let the HierarchyConfiguration go: %w", err)
	}
	writes.WithLabelValues("hierarchyconfiguration").Inc()
	return nil
}

// epoch is the time of a condition that follows from another namespace, as HNC
// writes it: it comes and goes with that one.
var epoch = metav1.Unix(0, 0)

// conditions are those of a namespace, as they are written: the time of one that
// was there stays.
func conditions(have []metav1.Condition, want []tree.Condition, now metav1.Time) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range want {
		is := metav1.Condition{Type: c.Type, Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message, LastTransitionTime: now}
		if c.Reason == hncv1alpha2.ReasonAncestorHalted {
			is.LastTransitionTime = epoch
		}
		for _, was := range have {
			if was.Type == is.Type && was.Reason == is.Reason {
				is.LastTransitionTime, is.ObservedGeneration = was.LastTransitionTime, was.ObservedGeneration
			}
		}
		out = append(out, is)
	}
	return out
}
