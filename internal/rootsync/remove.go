// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// finalize sees to it that the RootSync cannot go unnoticed; done is false if it was
// written just now, which the watch tells.
func (r *runner) finalize(ctx context.Context, rs *configsyncv1beta1.RootSync) (done bool, err error) {
	if slices.Contains(rs.Finalizers, configsyncv1beta1.FinalizerReconciler) && rs.Labels[configsyncv1beta1.LabelApplySetID] == r.sync.ApplySet() && rs.Annotations[configsyncv1beta1.AnnotationApplySetTooling] == configsyncv1beta1.ApplySetTooling {
		return true, nil
	}
	finalizers := rs.Finalizers
	if !slices.Contains(finalizers, configsyncv1beta1.FinalizerReconciler) {
		finalizers = append(slices.Clone(finalizers), configsyncv1beta1.FinalizerReconciler)
	}
	err = r.patch(ctx, rs, map[string]any{
		"finalizers": finalizers, "labels": map[string]string{configsyncv1beta1.LabelApplySetID: r.sync.ApplySet()}, "annotations": map[string]string{configsyncv1beta1.AnnotationApplySetTooling: configsyncv1beta1.ApplySetTooling},
	})
	return false, err
}

// patch writes metadata of the RootSync as it was read.
func (r *runner) patch(ctx context.Context, rs *configsyncv1beta1.RootSync, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = rs.UID, rs.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	o := &configsyncv1beta1.RootSync{}
	o.Namespace, o.Name = object.SyncNamespace, string(r.sync)
	err = r.s.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, body), client.FieldOwner("holdfast-sync"))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil // it has changed meanwhile: the watch tells
	}
	if err != nil {
		return fmt.Errorf("write RootSync %s: %w", r.sync, err)
	}
	return nil
}

// remove ends a RootSync that is being deleted: its objects go with it or are let go of.
func (r *runner) remove(ctx context.Context, rs *configsyncv1beta1.RootSync, settings spec.Settings, facts *report.Facts) error {
	if !slices.Contains(rs.Finalizers, configsyncv1beta1.FinalizerReconciler) {
		return r.release(ctx, rs)
	}
	if settings.Suspended && settings.Foreground {
		return r.holdRemoval(ctx, rs, facts)
	}
	// It wants nothing any more: others may take over what it has.
	r.s.forget(r.sync)
	if err := r.s.identities.Ensure(ctx, r.sync); err != nil {
		return err
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	how := apply.Orphan
	if settings.Foreground {
		how = apply.Foreground
		if !r.s.complete.Load() {
			// After a start the other RootSyncs may declare the same objects, or use them. stakesChanged wakes this runner once all are known.
			facts.Teardown = &report.Teardown{}
			return nil
		}
	}
	e := r.runs()
	e.Remove(how, apply.Declaration{ReconcileTimeout: settings.ReconcileTimeout, CallTimeout: settings.APIServerTimeout})
	state := e.State()
	facts.Teardown = &report.Teardown{Errors: state.Errors}
	if err := r.watch(state); err != nil {
		return err
	}
	if !state.Removed {
		return nil
	}
	return r.release(ctx, rs)
}

// holdRemoval keeps a RootSync that is suspended, and what it has, until it is resumed or its objects are to stay.
func (r *runner) holdRemoval(ctx context.Context, rs *configsyncv1beta1.RootSync, facts *report.Facts) error {
	r.stop()
	r.unsubscribe()
	facts.Teardown = &report.Teardown{Errors: []*knv.Error{knv.New(knv.Applier,
		"RootSync %s is suspended, so that its objects are not deleted: remove the annotation %s from it to have them deleted, or set the annotation %s to %s to keep them",
		r.sync, configsyncv1beta1.AnnotationSuspend, configsyncv1beta1.AnnotationDeletionPropagation, configsyncv1beta1.DeletionOrphan)}}
	return r.undecided(ctx, rs)
}

// release lets the RootSync go.
func (r *runner) release(ctx context.Context, rs *configsyncv1beta1.RootSync) error {
	left := slices.DeleteFunc(slices.Clone(rs.Finalizers), func(f string) bool {
		return f == configsyncv1beta1.FinalizerReconciler || f == configsyncv1beta1.FinalizerManager
	})
	if len(left) == len(rs.Finalizers) {
		return nil
	}
	return r.patch(ctx, rs, map[string]any{"finalizers": left})
}
