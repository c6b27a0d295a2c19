// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	fluxUser = "system:serviceaccount:flux-system:kustomize-controller"
	// fluxManager is the field manager of its applies.
	fluxManager = "kustomize-controller"
	// fluxNamespace is that of the Kustomization, whose name is the namespace of the test.
	fluxNamespace = "flux-system"
)

// flux is the engine of kustomize-controller. The controller itself cannot be imported, so the tests keep the inventory of
// the Kustomization in its place.
type flux struct {
	// forgets is for versions before kustomize-controller #1665, which drop what they could not prune from the inventory.
	forgets bool

	manager       *ssa.ResourceManager
	kustomization string
	inventory     []*unstructured.Unstructured
}

func (f flux) begin(t testing.TB, e *testkit.Env, ns string) tool {
	t.Helper()
	c, err := client.New(administrator(t, e, fluxUser), client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	owner := ssa.Owner{Field: fluxManager, Group: "kustomize.toolkit.fluxcd.io"}
	f.manager, f.kustomization = ssa.NewResourceManager(c, nil, owner), ns
	return &f
}

// declared returns the objects of manifests as the controller hands them to the engine.
func (f *flux) declared(t testing.TB, manifests ...string) []*unstructured.Unstructured {
	t.Helper()
	objects := decode(t, manifests...)
	f.manager.SetOwnerLabels(objects, f.kustomization, fluxNamespace)
	return objects
}

func (f *flux) sync(t testing.TB, manifests ...string) report {
	t.Helper()
	out := report{Objects: map[string]string{}}
	objects := f.declared(t, manifests...)
	if _, err := out.add(f.manager.ApplyAllStaged(t.Context(), objects, ssa.DefaultApplyOptions())); err != nil {
		return out
	}
	stale := slices.DeleteFunc(f.inventory, func(o *unstructured.Unstructured) bool { return slices.ContainsFunc(objects, sameName(o)) })
	options := ssa.DefaultDeleteOptions()
	options.Inclusions = f.manager.GetOwnerLabels(f.kustomization, fluxNamespace)
	settled, _ := out.add(f.manager.DeleteAll(t.Context(), stale, options))
	f.inventory = objects
	for _, o := range stale {
		if !f.forgets && !slices.Contains(settled, o.GetName()) {
			f.inventory = append(f.inventory, o)
		}
	}
	return out
}

func sameName(o *unstructured.Unstructured) func(*unstructured.Unstructured) bool {
	return func(other *unstructured.Unstructured) bool { return o.GetName() == other.GetName() }
}

// add takes over what the engine returns, and returns the names of what was deleted or need not be.
func (r *report) add(changes *ssa.ChangeSet, err error) (settled []string, _ error) {
	if err != nil {
		r.Error = err.Error()
	}
	if changes == nil {
		return nil, err
	}
	for _, c := range changes.Entries {
		r.Objects[c.ObjMetadata.Name] = c.Action.String()
		if c.Action == ssa.DeletedAction || c.Action == ssa.SkippedAction {
			settled = append(settled, c.ObjMetadata.Name)
		}
	}
	return settled, err
}

func (f *flux) drift(t testing.TB, manifest string) (diffs []string) {
	t.Helper()
	for _, o := range f.declared(t, manifest) {
		change, _, _, err := f.manager.Diff(t.Context(), o, ssa.DefaultDiffOptions())
		if err != nil {
			t.Fatal(err)
		}
		if change.Action != ssa.UnchangedAction {
			diffs = append(diffs, "diff of Kustomizations")
		}
		patch, err := jsondiff.Unstructured(t.Context(), f.manager.Client(), o, jsondiff.FieldOwner(fluxManager))
		if err != nil {
			t.Fatal(err)
		}
		if patch.Type != jsondiff.DiffTypeNone {
			diffs = append(diffs, "diff of HelmReleases")
		}
	}
	return diffs
}
