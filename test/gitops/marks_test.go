// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
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
		r.mustSucceed(manifest)
		r.settle()
		if diff := cmp.Diff(before, r.get(name)); diff != "" {
			r.t.Errorf("%s has changed (-before +after):\n%s", name, diff)
		}
	}
}

// comeToRest syncs a manifest until a sync writes nothing. Argo CD always applies, and the API server stores the first
// applies for their managedFields alone: their owners change, and their order if two writes are of the same second.
func (r *rig) comeToRest(name, manifest string) {
	r.t.Helper()
	gomega.NewWithT(r.t).Eventually(func() bool {
		before := r.get(name).ResourceVersion
		r.mustSucceed(manifest)
		return before == r.get(name).ResourceVersion
	}, patience, often).Should(gomega.BeTrue())
}

func TestMarks_ofHoldfastAreNoDrift(t *testing.T) {
	t.Parallel()
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, s)
			manifest := r.manifest("a", "1")
			r.mustSucceed(manifest)
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
			r.mustSucceed(manifest)
			r.awaitMarks("a", "none") // Holdfast has removed them
			if drift := r.drift(t, manifest); len(drift) == 0 {
				t.Error("the tool sees no drift, so it would not apply them again")
			}

			r.mustSucceed(manifest)
			r.awaitMarks("a", "stray")
			r.mustRest("a", manifest)
			r.mustHaveWritten("a", "stray", "none", "stray")

			r.mustSucceed() // marks of another object do not protect this one from the prune
			r.awaitStored()
		})
	}
}

// A replace writes only what the manifest has, and the account of Argo CD has the verb unprotect.
func TestMarks_stayWhenTheObjectIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{make: argoCD{replace: true}.begin})
	manifest := r.manifest("a", "1")
	r.mustSucceed(manifest)
	r.protect("a")
	r.awaitMarks("a", "bound")

	r.mustSync(report{Objects: map[string]string{"a": "Synced: configmap/a replaced"}}, manifest)
	r.mustHaveMarked("a", "none", "bound")
}

// The manifest was exported before the object was deleted and made again, and a protection selects the object.
func TestMarks_stayWhereGitHasStrayOnes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string // of the setup
		drift []string
	}{
		{name: "Flux"},
		{name: "Argo CD", drift: []string{"local diff"}},
		{name: "Argo CD with server-side apply", drift: []string{"local diff"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setups[slices.IndexFunc(setups, func(s setup) bool { return s.name == tt.name })]
			r := newRig(t, s)
			manifest := r.manifest("a", "1", stray)
			r.protect("a")
			r.mustSucceed(manifest)
			r.awaitMarks("a", "bound")

			r.comeToRest("a", manifest)
			r.mustRest("a", manifest, tt.drift...)
			r.mustHaveMarked("a", "stray", "bound")

			clean := r.manifest("a", "1")
			r.mustSucceed(clean)
			r.awaitMarks("a", "bound")
			r.mustRest("a", clean)
			r.mustHaveMarked("a", "stray", "bound")
		})
	}
}
