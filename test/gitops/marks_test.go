// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mustRest syncs a manifest again and again: the tool must find no drift but in these diffs, and neither the tool nor
// Holdfast may write.
func (r *rig) mustRest(name, manifest string, drift ...string) {
	r.t.Helper()
	before := r.get(name)
	for range rounds {
		if diff := cmp.Diff(drift, r.drift(r.t, manifest)); diff != "" {
			r.t.Errorf("the diffs with drift (-want +got):\n%s", diff)
		}
		r.sync(r.t, manifest)
		r.settle()
		if diff := cmp.Diff(before, r.get(name)); diff != "" {
			r.t.Errorf("%s has changed (-before +after):\n%s", name, diff)
		}
	}
}

func TestMarks_ofHoldfastAreNoDrift(t *testing.T) {
	t.Parallel()
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, s)
			manifest := r.manifest("a", "1")
			r.sync(t, manifest)
			r.protect("a")
			r.awaitMarks("a", "bound")

			r.mustRest("a", manifest)
			r.mustHaveWritten("a", "none", "bound")
		})
	}
}

// The manifest was exported from a cluster, with the marks of the object there.
func TestMarks_strayOnesInGitAreAppliedAgainOnce(t *testing.T) {
	t.Parallel()
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, s)
			manifest := r.manifest("a", "1", stray)
			r.sync(t, manifest)
			r.awaitMarks("a", "none") // Holdfast has removed them
			if drift := r.drift(t, manifest); len(drift) == 0 {
				t.Error("the tool sees no drift, so it would not apply them again")
			}

			r.sync(t, manifest)
			r.awaitMarks("a", "stray")
			r.mustRest("a", manifest)
			r.mustHaveWritten("a", "stray", "none", "stray")

			r.sync(t) // marks of another object do not protect this one from the prune
			r.awaitStored()
		})
	}
}

// A replace removes what the manifest does not have, and Argo CD has the right to remove marks.
func TestMarks_areRemovedByAReplaceAndWrittenAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{make: argoCD{replace: true}.begin})
	manifest := r.manifest("a", "1")
	r.sync(t, manifest)
	r.protect("a")
	r.awaitMarks("a", "bound")

	r.mustSync(report{Objects: map[string]string{"a": "Synced: configmap/a replaced"}}, manifest)
	r.awaitMarks("a", "bound")
	r.mustHaveWritten("a", "none", "bound", "none", "bound")
}
