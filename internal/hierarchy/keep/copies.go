// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// action is what to do about a place for a copy.
type action string

const (
	nothing action = ""
	create  action = "create"
	update  action = "update"
	remove  action = "delete"
)

// decide says what to do about a place for a copy.
func decide(p *world.CopyPlan) action {
	switch {
	case p.Action == propagate.Remove && p.SourceGoing && p.Mode != hncv1alpha2.ModeRemove:
		// Soon the namespace is an orphan, which keeps its copies: it must not depend on
		// what comes first.
		return nothing
	case p.Action == propagate.Remove && p.Have != nil && p.Have.DeletionTimestamp == nil:
		return remove
	case p.Action != propagate.Copy || p.From == nil || p.UpToDate():
		return nothing
	case p.Have != nil || p.Instead != nil:
		return update
	}
	return create
}

// copy brings one place for a copy to what it should be.
func (k *Keeper) copy(ctx context.Context, i item) error {
	at := world.CopyRef{Key: propagate.Key{Kind: i.kind, Name: i.name}, Namespace: i.namespace}
	p := k.o.World.Copy(at)
	if p == nil {
		k.progress.end(at, nil)
		return nil
	}
	err := k.bring(ctx, at, p)
	if k.progress.end(at, err) {
		k.add(item{what: aCompletion, name: at.Namespace})
	}
	return err
}

func (k *Keeper) bring(ctx context.Context, at world.CopyRef, p *world.CopyPlan) error {
	objects := k.o.Dynamic.Resource(p.Kind.Resource).Namespace(at.Namespace)
	var err error
	switch act := decide(p); act {
	case nothing:
		return nil
	case remove:
		err = k.remove(ctx, objects, p.Have)
	case create:
		err = k.create(ctx, objects, at, p)
	case update:
		err = k.update(ctx, objects, at, p)
	}
	k.later(item{what: theConfig}, calm)
	if err != nil && p.From != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		k.o.Events.Eventf(p.From.Object, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotPropagate, "Propagate",
			"cannot be copied to the namespace %s: %v", at.Namespace, err)
	}
	return err
}

// remove deletes a copy as it is known. One that has changed meanwhile is looked at
// again when the watch tells.
func (k *Keeper) remove(ctx context.Context, objects dynamic.ResourceInterface, have *world.Copy) error {
	err := objects.Delete(ctx, have.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(have.UID), ResourceVersion: new(have.ResourceVersion)},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		writes.WithLabelValues("delete").Inc()
	}
	return err
}

func (k *Keeper) create(ctx context.Context, objects dynamic.ResourceInterface, at world.CopyRef, p *world.CopyPlan) error {
	out, err := objects.Create(ctx, p.Rules.Copied(p.From.Object, at.Namespace), metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil {
		return err
	}
	writes.WithLabelValues("create").Inc()
	k.wrote(at, out, p)
	return nil
}

// update gives what is there the content of the source. Where the API server does
// not let it be changed, it is replaced.
func (k *Keeper) update(ctx context.Context, objects dynamic.ResourceInterface, at world.CopyRef, p *world.CopyPlan) error {
	want, err := k.next(ctx, objects, at, p)
	if err != nil {
		return err
	}
	out, err := objects.Update(ctx, want, metav1.UpdateOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsInvalid(err):
		return k.replace(ctx, objects, at, p, want, err)
	case err != nil:
		return err
	}
	writes.WithLabelValues("update").Inc()
	k.wrote(at, out, p)
	return nil
}

// next is what to write over what is there: of that it keeps what a copy does not
// have. An object that is no copy gives way, as in HNC.
func (k *Keeper) next(ctx context.Context, objects dynamic.ResourceInterface, at world.CopyRef, p *world.CopyPlan) (*unstructured.Unstructured, error) {
	want := p.Rules.Copied(p.From.Object, at.Namespace)
	var have metav1.Object = p.Have
	if p.Have == nil {
		have = p.Instead.Object
	}
	keepMetadata(want, have)
	if p.Have != nil && !p.Have.HasStatus {
		return want, nil
	}
	// Without a subresource for it, an update would take the status away.
	status, found, whole := map[string]any(nil), false, (*unstructured.Unstructured)(nil)
	if p.Have == nil {
		whole = p.Instead.Object
	} else {
		var err error
		if whole, err = objects.Get(ctx, at.Name, metav1.GetOptions{ResourceVersion: p.Have.ResourceVersion}); err != nil {
			return nil, fmt.Errorf("get the copy: %w", err)
		}
	}
	if status, found, _ = unstructured.NestedMap(whole.Object, "status"); found {
		want.Object["status"] = status
	}
	return want, nil
}

// keepMetadata gives an object what identifies the one that it takes the place of,
// and what others have put on that.
func keepMetadata(want *unstructured.Unstructured, have metav1.Object) {
	want.SetUID(have.GetUID())
	want.SetResourceVersion(have.GetResourceVersion())
	want.SetFinalizers(have.GetFinalizers())
	want.SetOwnerReferences(have.GetOwnerReferences())
	annotations := maps.Clone(have.GetAnnotations())
	maps.DeleteFunc(annotations, func(key, _ string) bool { return !propagate.OfController(key) })
	if len(annotations) > 0 {
		maps.Copy(annotations, want.GetAnnotations())
		want.SetAnnotations(annotations)
	}
}

// replace deletes what cannot be changed, and makes it anew. That the new one can
// be made is tried first, under another name: otherwise the reason is another one,
// and the copy would be lost.
func (k *Keeper) replace(ctx context.Context, objects dynamic.ResourceInterface, at world.CopyRef, p *world.CopyPlan, want *unstructured.Unstructured, why error) error {
	trial := p.Rules.Copied(p.From.Object, at.Namespace)
	trial.SetName("")
	trial.SetGenerateName("holdfast-trial-")
	if _, err := objects.Create(ctx, trial, metav1.CreateOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}}); err != nil {
		return why
	}
	if p.Have == nil {
		// Somebody's own object is worth more than a copy.
		return fmt.Errorf("an object of the name is in the way and cannot be changed into a copy; delete it: %w", why)
	}
	err := objects.Delete(ctx, at.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(types.UID(want.GetUID())), ResourceVersion: new(want.GetResourceVersion())},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("take away what cannot be changed: %w", err)
	}
	writes.WithLabelValues("replace").Inc()
	return k.create(ctx, objects, at, p)
}

// wrote takes in what the API server made of a write. If something else changes it
// on the way, writing it again would not help.
func (k *Keeper) wrote(at world.CopyRef, out *unstructured.Unstructured, p *world.CopyPlan) {
	k.o.World.Wrote(at, out)
	if digest, err := propagate.DigestOf(out); err != nil || digest != p.From.Digest {
		k.o.Events.Eventf(out, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotUpdate, "Propagate",
			"the API server, or a webhook in it, makes something else of the copy than of %s/%s", p.From.Object.GetNamespace(), at.Name)
	}
}
