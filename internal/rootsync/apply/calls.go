// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// errOvertaken says that an object has changed while it was looked at.
var errOvertaken = errors.New("it has changed meanwhile")

// resource is where an object is written: in the version that is declared, or else in
// that which the API server prefers.
func (e *Engine) resource(it *item) dynamic.ResourceInterface {
	kind, _, _ := e.kind(it.id.GroupKind())
	gvr := kind.Resource
	if it.declared != nil {
		gvr.Version = it.declared.Object.GroupVersionKind().Version
	}
	if it.id.Namespace != "" {
		return e.o.Client.Resource(gvr).Namespace(it.id.Namespace)
	}
	return e.o.Client.Resource(gvr)
}

// task is what a call needs of an item, which may change meanwhile.
type task struct {
	*Engine
	it       *item
	at       dynamic.ResourceInterface
	declared object.Declared
	want     decide.Want
	drift    bool
	toldAt   int
	cameAt   int
	// wrote says that something was written, and not only looked at.
	wrote bool
}

func (e *Engine) task(it *item) *task {
	t := &task{Engine: e, it: it, at: e.resource(it), want: it.want, toldAt: it.told, cameAt: it.came}
	if it.declared != nil {
		t.declared = *it.declared
	}
	return t
}

// call makes a call that takes no longer than it may, and takes in how it ended.
func (t *task) call(do func(context.Context) (*unstructured.Unstructured, error), end func(*unstructured.Unstructured, error)) call {
	timeout := t.current.CallTimeout
	return func(parent context.Context) {
		ctx, cancel := context.WithTimeout(parent, timeout)
		got, err := do(ctx)
		cancel()
		if parent.Err() != nil {
			return // the Engine ends
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		end(got, err)
	}
}

// apply applies an object, whether it is there or not.
func (e *Engine) apply(it *item, drift bool) call {
	t := e.task(it)
	t.drift = drift
	return t.call(t.applyNow, t.written)
}

func (t *task) applyNow(ctx context.Context) (*unstructured.Unstructured, error) {
	return t.patch(ctx, t.want.Version, nil)
}

func (t *task) patch(ctx context.Context, v object.Version, dryRun []string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(object.Stamp(t.declared, t.o.Sync, v).Object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	t.wrote = len(dryRun) == 0
	return t.at.Patch(ctx, t.it.id.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: object.FieldManager, Force: new(true), DryRun: dryRun})
}

// dryRun applies an object that is there only if that would change anything.
func (e *Engine) dryRun(it *item, seen *live.Seen) call {
	t := e.task(it)
	return t.call(func(ctx context.Context) (*unstructured.Unstructured, error) {
		have, err := t.at.Get(ctx, it.id.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, errOvertaken
		}
		if apierrors.IsForbidden(err) { // who may write need not be allowed to read
			return t.applyAsBefore(ctx, seen)
		}
		if err != nil {
			return nil, err
		}
		if live.Of(it.id, have).Manager != seen.Manager {
			return nil, errOvertaken
		}
		would, err := t.patch(ctx, seen.Version, []string{metav1.DryRunAll})
		switch {
		case apierrors.IsBadRequest(err): // a webhook may not know dry runs
			return t.applyAsBefore(ctx, seen)
		case err != nil:
			return nil, err
		case would.GetResourceVersion() != have.GetResourceVersion():
			return nil, errOvertaken
		case live.Same(have, would):
			return have, nil
		}
		return t.applyNow(ctx)
	}, t.written)
}

// applyAsBefore applies an object for the version that it was applied for: where nothing
// else has changed, the API server does not write it.
func (t *task) applyAsBefore(ctx context.Context, seen *live.Seen) (*unstructured.Unstructured, error) {
	got, err := t.patch(ctx, seen.Version, nil)
	if err != nil || got.GetResourceVersion() == seen.ResourceVersion {
		return got, err
	}
	return t.applyNow(ctx)
}

// mark writes on an object whose it is.
func (e *Engine) mark(it *item) call {
	t := e.task(it)
	t.want.Digest = "" // of the content nothing is known
	return t.call(func(ctx context.Context) (*unstructured.Unstructured, error) {
		have, err := t.at.Get(ctx, it.id.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, errOvertaken
		}
		if err != nil {
			return nil, err
		}
		body, err := decide.Mark(have, object.Stamp(t.declared, t.o.Sync, t.want.Version))
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		t.wrote = true
		return t.at.Patch(ctx, it.id.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: object.FieldManager})
	}, t.written)
}

// look finds out about an object of which the watch cannot tell.
func (e *Engine) look(it *item, f decide.Facts) call {
	t := e.task(it)
	return t.call(func(ctx context.Context) (*unstructured.Unstructured, error) {
		got, err := t.at.Get(ctx, it.id.Name, metav1.GetOptions{})
		// Of what the watch knows, only an object without its label can be there.
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && f.Known && t.declared.Object == nil {
			return nil, nil //nolint:nilnil // it is not there
		}
		return got, err
	}, func(got *unstructured.Unstructured, err error) {
		if err != nil {
			t.failed(err)
			return
		}
		it.answer, it.answered, it.looked = nil, e.o.Clock.Now(), true
		if got != nil {
			it.answer = live.Of(it.id, got)
		}
		e.queue.Add(it.id)
	})
}

// abandon removes the marks of the RootSync from an object. KeptBy names the others that manage it; empty for none.
func (e *Engine) abandon(it *item, keptBy string) call {
	t := e.task(it)
	return t.call(func(ctx context.Context) (*unstructured.Unstructured, error) {
		have, err := t.at.Get(ctx, it.id.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && live.Of(it.id, have).Manager != e.o.Sync.Manager() {
			return nil, nil //nolint:nilnil // there is nothing to let go
		}
		if err != nil {
			return nil, err
		}
		body, err := decide.Strip(have)
		if err != nil || body == nil {
			return nil, err
		}
		got, err := t.at.Patch(ctx, it.id.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: object.FieldManager})
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // it has gone meanwhile
		}
		return got, err
	}, func(got *unstructured.Unstructured, err error) {
		if err != nil {
			t.failed(err)
			return
		}
		if got != nil {
			e.o.Did(Released)
			if keptBy != "" {
				e.o.Left(it.id, keptBy)
			}
		}
		it.failures = 0
		e.finish(it, gone, nil)
	})
}

// remove asks an object to go, as it was seen.
func (e *Engine) remove(it *item, f decide.Facts) call {
	t, seen := e.task(it), f.Seen
	policy := metav1.DeletePropagationBackground
	if e.current.removal == Foreground {
		policy = metav1.DeletePropagationForeground
	}
	return t.call(func(ctx context.Context) (*unstructured.Unstructured, error) {
		if err := cmp.Or(e.staying(ctx, it.id), e.occupied(ctx, it.id)); err != nil {
			return nil, err
		}
		return nil, t.at.Delete(ctx, it.id.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: new(seen.UID), ResourceVersion: new(seen.ResourceVersion)}, PropagationPolicy: &policy,
		})
	}, func(_ *unstructured.Unstructured, err error) { t.removed(f, err) })
}
