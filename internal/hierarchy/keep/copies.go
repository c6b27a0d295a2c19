// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
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
	case p.Action == propagate.Remove && orphaned(p):
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

// orphaned reports whether the namespace of a copy is an orphan soon, which keeps its copies: it must not depend on what
// comes first.
func orphaned(p *world.CopyPlan) bool {
	return p.SourceGoing && p.Mode != hncv1alpha2.ModeRemove && !p.Unsafe
}

// copy brings one place for a copy to what it should be.
func (k *Keeper) copy(ctx context.Context, i item) error {
	at := world.CopyRef{Key: propagate.Key{Kind: i.kind, Name: i.name}, Namespace: i.namespace}
	p := k.o.World.Copy(at)
	if p == nil {
		k.progress.end(at, nil)
		return nil
	}
	err := k.bring(ctx, i, at, p)
	if err != nil && passing(err) && k.queue.NumRequeues(i) == 0 {
		return err // it is on its way still
	}
	if k.progress.end(at, err) {
		k.add(item{what: aCompletion, name: at.Namespace})
	}
	return err
}

func (k *Keeper) bring(ctx context.Context, i item, at world.CopyRef, p *world.CopyPlan) error {
	decided.Inc()
	var err error
	act := decide(p)
	if act != remove {
		k.removals.stays(i, at)
	}
	if p.Reason != "" { // after what may be on its way: most often the Role is there by then
		k.later(item{what: aSource, kind: at.Kind, namespace: p.Source.Namespace, name: at.Name}, k.o.Pauses.TreeStatus)
	}
	switch {
	case act == nothing, act == update && k.altered(at, p):
		return nil
	case act == remove && !k.removals.may(i, at, p):
		k.later(item{what: theConfig}, k.o.Pauses.TreeStatus) // which says so
		return nil
	}
	if err = k.unbind(ctx, at, p, act); err != nil && act != remove {
		k.tell(at, p, err)
		return err
	}
	switch act {
	case remove:
		err = k.remove(ctx, p)
	case create:
		err = k.create(ctx, at, p)
	default:
		err = k.update(ctx, at, p)
	}
	k.later(item{what: theConfig}, k.o.Pauses.TreeStatus)
	k.tell(at, p, err)
	return err
}

// unbind deletes the copies of RoleBindings that are not to be there, before the Role that they refer to appears, goes or
// becomes the copy of another one: after that they would grant what their sources do not. It does not ask the brake.
// Where a copy cannot be deleted, the Role goes all the same, and no other one comes in its place. A finalizer that an admin
// of the namespace puts on a copy delays its end; that admin can grant as much by a RoleBinding of his own.
func (k *Keeper) unbind(ctx context.Context, at world.CopyRef, p *world.CopyPlan, act action) error {
	if at.Kind != propagate.RoleKind || act == update && p.Have != nil && p.Have.From == p.From.Object.GetNamespace() {
		return nil
	}
	var problems []error
	for _, b := range k.o.World.Bound(at) {
		binding := k.o.World.Copy(b)
		if binding == nil || decide(binding) != remove {
			continue
		}
		if err := k.remove(ctx, binding); err != nil {
			problems = append(problems, fmt.Errorf("delete the RoleBinding %s first: %w", b.Name, err))
		}
	}
	return errors.Join(problems...)
}

// tell says on the source that it cannot be copied somewhere.
func (k *Keeper) tell(at world.CopyRef, p *world.CopyPlan, err error) {
	if err != nil && p.From != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		k.o.Events.Eventf(p.From.Object, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotPropagate, "Propagate",
			"cannot be copied to the namespace %s: %v", at.Namespace, err)
	}
}

// remove deletes a copy as it is known. One that has changed meanwhile is looked at
// again when the watch tells.
func (k *Keeper) remove(ctx context.Context, p *world.CopyPlan) error {
	if err := k.delete(ctx, p.Kind, p.Have); err != nil {
		return err
	}
	writes.WithLabelValues("delete").Inc()
	return nil
}

func (k *Keeper) delete(ctx context.Context, kind inventory.Kind, have *world.Copy) error {
	err := k.objects.delete(ctx, kind, have.Namespace, have.Name, &metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(have.UID), ResourceVersion: new(have.ResourceVersion)},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// template makes the copies of a source.
type template struct {
	*propagate.Template
	// binary is what makes one in protobuf; nil where that is not possible.
	binary []byte
}

// template of the copies of a source, which are often made one after the other.
func (k *Keeper) template(p *world.CopyPlan) (*template, error) {
	if t, ok := k.templates.Get(p.From); ok {
		return t.(*template), nil
	}
	made, err := p.Rules.NewTemplate(p.From.Object)
	if err != nil {
		return nil, err
	}
	t := &template{Template: made}
	if takesProtobuf(p.Kind) {
		t.binary = inProtobuf(p.Rules.Copied(p.From.Object, ""))
	}
	k.templates.Add(p.From, t)
	return t, nil
}

func (k *Keeper) create(ctx context.Context, at world.CopyRef, p *world.CopyPlan) error {
	t, err := k.template(p)
	if err != nil {
		return err
	}
	body, mediaType := t.binary, runtime.ContentTypeProtobuf
	if body == nil {
		if body, err = t.Copy(); err != nil {
			return err
		}
		mediaType = runtime.ContentTypeJSON
	}
	out, err := k.objects.create(ctx, p.Kind.Resource, at.Namespace, mediaType, body)
	if err != nil {
		return err
	}
	writes.WithLabelValues("create").Inc()
	k.wrote(at, out, p)
	return nil
}

// update gives what is there the content of the source. Where the API server does
// not let it be changed, it is replaced.
func (k *Keeper) update(ctx context.Context, at world.CopyRef, p *world.CopyPlan) error {
	t, err := k.template(p)
	if err != nil {
		return err
	}
	have, status, err := k.there(ctx, at, p)
	if err != nil {
		return err
	}
	body, err := t.Over(have, status)
	if err != nil {
		return err
	}
	out, err := k.objects.update(ctx, p.Kind.Resource, at.Namespace, at.Name, body)
	switch {
	case apierrors.IsInvalid(err):
		return k.replace(ctx, at, p, t, err)
	case err != nil:
		return err
	}
	writes.WithLabelValues("update").Inc()
	k.wrote(at, out, p)
	return nil
}

// there is what a copy is written over, and its status: without a subresource for
// that, an update would take it away. An object that is no copy gives way, as in
// HNC.
func (k *Keeper) there(ctx context.Context, at world.CopyRef, p *world.CopyPlan) (have metav1.Object, status any, err error) {
	whole := &unstructured.Unstructured{}
	switch {
	case p.Have != nil && !p.Have.HasStatus:
		return p.Have, nil, nil
	case p.Have != nil:
		have = p.Have
		objects := k.o.Dynamic.Resource(p.Kind.Resource).Namespace(at.Namespace)
		if whole, err = objects.Get(ctx, at.Name, metav1.GetOptions{ResourceVersion: p.Have.ResourceVersion}); err != nil {
			return nil, nil, fmt.Errorf("get the copy: %w", err)
		}
	default:
		have, whole = p.Instead.Object, p.Instead.Object
	}
	return have, whole.Object["status"], nil
}

// replace deletes what cannot be changed, and makes it anew. That the new one can
// be made is tried first, under another name: otherwise the reason is another one,
// and the copy would be lost.
func (k *Keeper) replace(ctx context.Context, at world.CopyRef, p *world.CopyPlan, t *template, why error) error {
	if p.Have == nil {
		// Somebody's own object is worth more than a copy.
		return fmt.Errorf("an object of the name is in the way and cannot be changed into a copy; delete it: %w", why)
	}
	trial, err := t.Trial()
	if err != nil {
		return err
	}
	if _, err := k.objects.try(ctx, p.Kind.Resource, at.Namespace, trial); err != nil {
		return why
	}
	if err := k.delete(ctx, p.Kind, p.Have); err != nil {
		return fmt.Errorf("take away what cannot be changed: %w", err)
	}
	writes.WithLabelValues("replace").Inc()
	return k.create(ctx, at, p)
}

// written is what was written to a place last, and what the API server made of it.
type written struct {
	digest  propagate.Digest
	version string
}

// wrote takes in that a copy was written.
func (k *Keeper) wrote(at world.CopyRef, out *metav1.PartialObjectMetadata, p *world.CopyPlan) {
	k.written.Add(at, written{p.From.Digest, out.ResourceVersion})
	k.o.World.Wrote(at, out, p.From)
}

// altered says whether a copy is not as it should be although it was written so,
// and nobody has changed it since: something in the API server changes it on the
// way, and to write it again would not help.
func (k *Keeper) altered(at world.CopyRef, p *world.CopyPlan) bool {
	last, ok := k.written.Get(at)
	if !ok || p.Have == nil || last != (written{p.From.Digest, p.Have.ResourceVersion}) {
		return false
	}
	k.o.Events.Eventf(p.From.Object, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotUpdate, "Propagate",
		"the API server, or a webhook in it, makes something else of the copy in the namespace %s", at.Namespace)
	return true
}
