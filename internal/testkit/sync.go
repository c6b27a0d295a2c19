// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// syncManifests are what the workload "sync" needs beside Holdfast itself.
var syncManifests = []string{"config/crd/configsync", "config/namespaces/config-management-system.yaml", "config/rbac/sync.yaml"}

// syncConfiguration lets tests have their repositories in folders.
const syncConfiguration = configurationHead + "rootSync: {allowFileSources: true}\n"

var sharedSync struct {
	sync.Once
	err error
}

// SharedSync is Shared with the workload "sync" beside the guard.
func SharedSync(t testing.TB) *Env {
	t.Helper()
	e := Shared(t)
	sharedSync.Do(func() {
		e.Sync, sharedSync.err = e.startSync(context.Background(), e.dir, patient) // it outlives the first test that asks for it
	})
	if sharedSync.err != nil {
		t.Fatalf("start the shared sync: %v", sharedSync.err)
	}
	return e
}

// StartSync starts a "sync" of the test's own, which ends with it. A cluster can have
// several, of which one leads.
func (e *Env) StartSync(t testing.TB, args ...string) *manager.Process {
	t.Helper()
	p, err := e.startSync(t.Context(), t.TempDir(), args)
	if err != nil {
		t.Fatalf("start sync: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the sync ends:\n%s", p.LogTail())
		}
		_ = p.Kill()
	})
	return p
}

func (e *Env) startSync(ctx context.Context, dir string, args []string) (*manager.Process, error) {
	if err := e.prepareSync(ctx); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "sync.yaml")
	if err := os.WriteFile(file, []byte(syncConfiguration+e.configuration), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return manager.Start(ctx, e.Cluster, manager.Options{
		Workload: manager.Sync, Binary: e.binary, Dir: dir, Env: e.managerEnv,
		Args: slices.Concat(e.pauses(), []string{"--config", file, "--config-map", "", "--cache-dir", filepath.Join(dir, "sources")}, args),
	})
}

// prepareSync applies what a "sync" needs, once: a test may start it often.
func (e *Env) prepareSync(ctx context.Context) error {
	if e.hasSync {
		return nil
	}
	if err := manager.Apply(ctx, e.Cluster, syncManifests...); err != nil {
		return err
	}
	e.hasSync = true
	return nil
}
