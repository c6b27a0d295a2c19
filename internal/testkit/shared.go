// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// shared is the Env of the package under test.
var shared struct {
	sync.Once
	run bool // Run runs the tests, and takes away what they leave
	err error
	env *Env
	// given says that the cluster was there, and had no Holdfast.
	given   bool
	options Options
}

// Run runs the tests of a package that uses Shared and ends what they shared. A
// cluster that was there before is left as it was.
func Run(m *testing.M) int { return RunWith(m, Options{}) }

// RunWith is Run for tests that share more.
func RunWith(m *testing.M, o Options) int {
	o.ManagerArgs = slices.Concat(patient, o.ManagerArgs)
	shared.run, shared.options = true, o
	code := m.Run()
	if shared.env == nil {
		return code
	}
	ctx, cancel := context.WithTimeout(context.Background(), takeAwayTimeout)
	defer cancel()
	if err := endShared(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "end what the tests shared:", err)
		return max(code, 1)
	}
	return code
}

// patient are arguments of the manager that all tests of a package share: no pause of
// a busy machine costs it the lease, for then it ends.
var patient = []string{"--leader-elect-lease-duration=2m", "--leader-elect-renew-deadline=100s"}

// Shared returns the Env that the tests of one package share, whose TestMain is
// Run. It is on the cluster that HOLDFAST_KUBECONFIG names, or on a local control
// plane. A test that breaks Holdfast or the cluster for others makes its own
// with New.
func Shared(t testing.TB) *Env {
	t.Helper()
	if !shared.run {
		t.Fatal("the package needs a TestMain that calls testkit.Run, which ends what its tests share")
	}
	shared.Do(func() {
		shared.err = startShared(context.Background()) // it outlives the first test that asks for it
	})
	if shared.err != nil {
		t.Fatalf("start the shared cluster: %v", shared.err)
	}
	return shared.env
}

func startShared(ctx context.Context) error {
	path := os.Getenv(KubeconfigVariable)
	c, err := sharedCluster(ctx, path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-test-")
	if err != nil {
		return errors.Join(fmt.Errorf("make folder: %w", err), c.Stop())
	}
	// From here on Run ends it, however far the start comes.
	shared.env, shared.given = newEnv(c, dir, shared.options), path != ""
	return shared.env.begin(ctx, shared.options)
}

// sharedCluster is the cluster of a kubeconfig if it has no Holdfast, or a local
// one if there is no path.
func sharedCluster(ctx context.Context, path string) (*cluster.Cluster, error) {
	if path == "" {
		return cluster.Lease(ctx, filepath.Base(os.Args[0]), shared.options.Cluster)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the kubeconfig: %w", err)
	}
	c, err := cluster.FromKubeconfig(path)
	if err != nil {
		return nil, err
	}
	return c, manager.RefuseInstalled(ctx, c)
}

func endShared(ctx context.Context) error {
	var errs []error
	e := shared.env
	if e.Sync != nil {
		errs = append(errs, e.Sync.Stop())
	}
	if e.Manager != nil {
		errs = append(errs, e.Manager.Stop())
	}
	if shared.given {
		errs = append(errs, e.takeAway(ctx))
		for _, path := range shared.options.Manifests {
			_, err := manager.Kubectl(ctx, e.Cluster, "delete", "--ignore-not-found", "-f", path)
			errs = append(errs, err)
		}
		if e.Sync != nil {
			for _, path := range syncManifests {
				_, err := manager.Kubectl(ctx, e.Cluster, "delete", "--ignore-not-found", "-f", path)
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(append(errs, e.Stop(), os.RemoveAll(e.dir))...)
}

// takeAwayTimeout is for the end of a few dozen namespaces on a busy cluster.
const takeAwayTimeout = 5 * time.Minute
