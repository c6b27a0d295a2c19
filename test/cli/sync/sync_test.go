// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sync tests kubectl holdfast sync by scripts on a real API server. The
// RootSyncs are as whoever syncs them would have left them, so that each state of one
// can be had.
package sync

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/test/cli/script"
)

// TestScripts run side by side: each has RootSyncs of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, script.Params(t, cluster(t), testscript.Params{Dir: "testdata"}))
}

// TestScriptsAlone are about all RootSyncs of the cluster, so they run one by one, and
// after the others.
func TestScriptsAlone(t *testing.T) {
	files, err := filepath.Glob("testdata/alone/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		// Scripts are parallel tests: this one ends before the next begins.
		t.Run("alone", func(t *testing.T) {
			testscript.Run(t, script.Params(t, cluster(t), testscript.Params{Files: []string{file}}))
		})
	}
}

// cluster is the one that the tests share, with the namespace of RootSyncs.
func cluster(t *testing.T) *testkit.Env {
	t.Helper()
	env := testkit.Shared(t)
	// The label has it taken away in the end, from a cluster that stays.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.SyncNamespace, Labels: map[string]string{"holdfast.dev/testkit": "made"}}}
	if err := env.Client.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return env
}
