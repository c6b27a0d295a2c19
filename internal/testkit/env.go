// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// KubeconfigVariable names an existing cluster for Shared and the demo to use in
// place of a local control plane.
const KubeconfigVariable = "HOLDFAST_KUBECONFIG"

// installTimeout bounds the wait for Holdfast's policies after its start.
const installTimeout = 180 * time.Second

// Env is a cluster with Holdfast installed and its manager running.
type Env struct {
	*cluster.Cluster
	// Config and Client are an administrator's; the client does not cache.
	Config *rest.Config
	Client client.Client
	// Manager is nil where Options.NoManager was given.
	Manager *manager.Process
	// Sync is nil but for SharedSync.
	Sync *manager.Process

	dir         string
	binary      string
	managerArgs []string
	managerEnv  []string
	// productionPauses is Options.ProductionPauses.
	productionPauses bool
	// hasSync says that what a "sync" needs was applied.
	hasSync bool
	// configuration is Options.Configuration.
	configuration string
}

// Options of an Env.
type Options struct {
	// Cluster are the options of a local control plane.
	Cluster cluster.Options
	// Manifests are applied before Holdfast starts; paths below the root of the module.
	Manifests []string
	// Configuration is a HoldfastConfiguration without apiVersion and kind. Managers and syncs read it from a
	// file; if it is empty they read the ConfigMap.
	Configuration string
	// ManagerArgs are given to each manager, before those of StartManager: of
	// a flag that is given twice the last value counts.
	ManagerArgs []string
	// ManagerEnv is added to the environment of each manager, as NAME=value.
	ManagerEnv []string
	// ProductionPauses is for tests of how long something waits; other managers and syncs make
	// pauses that are PausesDividedBy times as short.
	ProductionPauses bool
	// NoManager installs Holdfast and starts no manager.
	NoManager bool
	// NotInstalled does neither; the test does it later, with Install.
	NotInstalled bool
}

// New returns an Env of the test's own, which ends with it. It is always on a
// local control plane: what breaks Holdfast or the cluster never runs on
// somebody's.
func New(t testing.TB, o Options) *Env {
	t.Helper()
	dir := t.TempDir()
	c, err := cluster.Lease(t.Context(), t.Name(), o.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(c, dir, o)
	t.Cleanup(func() {
		if e.Manager != nil {
			if t.Failed() {
				t.Logf("the manager's log ends:\n%s", e.Manager.LogTail())
			}
			_ = e.Manager.Kill()
		}
		if err := e.Stop(); err != nil {
			t.Errorf("give the cluster back: %v", err)
		}
	})
	if err := e.begin(t.Context(), o); err != nil {
		t.Fatalf("start Holdfast: %v", err)
	}
	return e
}

func newEnv(c *cluster.Cluster, dir string, o Options) *Env {
	quiet() // before the first client, which looks whether a logger is set
	return &Env{
		Cluster: c, dir: dir, managerArgs: slices.Clone(o.ManagerArgs), managerEnv: o.ManagerEnv,
		productionPauses: o.ProductionPauses, configuration: o.Configuration,
	}
}

// configurationHead begins a configuration.
const configurationHead = "apiVersion: " + configv1alpha1.GroupVersion + "\nkind: " + configv1alpha1.Kind + "\n"

// begin applies the options, installs Holdfast and starts its manager.
func (e *Env) begin(ctx context.Context, o Options) error {
	if e.configuration != "" {
		file := filepath.Join(e.dir, "config.yaml")
		if err := os.WriteFile(file, []byte(configurationHead+e.configuration), 0o600); err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
		e.managerArgs = append(e.managerArgs, "--config", file, "--config-map", "")
	}
	if err := manager.Apply(ctx, e.Cluster, o.Manifests...); err != nil {
		return err
	}
	if err := e.prepare(ctx); err != nil || o.NotInstalled {
		return err
	}
	return e.start(ctx, !o.NoManager)
}

// PausesDividedBy is what the pauses of every manager and sync are divided by.
const PausesDividedBy = 20

// Pauses are those that it makes; for a test of one of its parts alone.
func Pauses() timing.Pauses { return timing.Production().DividedBy(PausesDividedBy) }

// pauses are the arguments of a manager or a sync that say so.
func (e *Env) pauses() []string {
	if e.productionPauses {
		return nil
	}
	return []string{"--divide-pauses-by", strconv.Itoa(PausesDividedBy)}
}

// Install installs Holdfast where New did not, and runs its manager.
func (e *Env) Install(t testing.TB) {
	t.Helper()
	if err := e.start(t.Context(), true); err != nil {
		t.Fatalf("start Holdfast: %v", err)
	}
}

// prepare makes what talks to the cluster, and the manager's binary.
func (e *Env) prepare(ctx context.Context) error {
	var err error
	if e.Config, err = e.RestConfig(); err != nil {
		return err
	}
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	if e.Client, err = client.New(e.Config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	e.binary, err = manager.Build(ctx, "holdfast-manager", raceEnabled, os.Stderr)
	return err
}

// start installs Holdfast and, where it is asked to, runs its manager.
func (e *Env) start(ctx context.Context, withManager bool) error {
	if err := manager.Install(ctx, e.Cluster); err != nil || !withManager {
		return err
	}
	var err error
	if e.Manager, err = manager.Start(ctx, e.Cluster, manager.Options{Binary: e.binary, Dir: e.dir, Args: slices.Concat(e.pauses(), e.managerArgs), Env: e.managerEnv}); err != nil {
		return err
	}
	return e.waitInstalled(ctx)
}

// quiet keeps controller-runtime from complaining that nobody reads its logs.
var quiet = sync.OnceFunc(func() { ctrllog.SetLogger(logr.Discard()) })

// Scheme knows every type that the tests use.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, hncv1alpha2.AddToScheme,
		configsyncv1beta1.AddToScheme, kptv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	return scheme, nil
}

// StartManager starts one more manager, or one after another was ended.
func (e *Env) StartManager(t testing.TB, args ...string) *manager.Process {
	t.Helper()
	return e.startManager(t, manager.Options{Args: args})
}

// StartVersion is StartManager for one that says that it is of another version.
func (e *Env) StartVersion(t testing.TB, version string, args ...string) *manager.Process {
	t.Helper()
	binary, err := manager.BuildVersion(t.Context(), "holdfast-manager", version, raceEnabled, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return e.startManager(t, manager.Options{Binary: binary, Args: args})
}

// StartManagerNotReady is StartManager for one that may never become ready.
func (e *Env) StartManagerNotReady(t testing.TB, args ...string) *manager.Process {
	t.Helper()
	return e.startManager(t, manager.Options{Args: args, NotReady: true})
}

func (e *Env) startManager(t testing.TB, o manager.Options) *manager.Process {
	t.Helper()
	o.Binary, o.Dir = cmp.Or(o.Binary, e.binary), t.TempDir()
	o.Args, o.Env = slices.Concat(e.pauses(), e.managerArgs, o.Args), slices.Concat(e.managerEnv, o.Env)
	p, err := manager.Start(t.Context(), e.Cluster, o)
	if err != nil {
		t.Fatalf("start manager: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the manager's log ends:\n%s", p.LogTail())
		}
		_ = p.Kill()
	})
	return p
}

// waitInstalled waits until Holdfast says that all its policies are in the API
// server and the API server acts on them.
func (e *Env) waitInstalled(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, installTimeout, true, func(ctx context.Context) (bool, error) {
		var h v1alpha1.Holdfast
		if err := e.Client.Get(ctx, client.ObjectKey{Name: v1alpha1.HoldfastName}, &h); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return ready(&h), nil
	})
	if err != nil {
		return fmt.Errorf("wait for Holdfast to be ready: %w; the manager's log ends:\n%s", err, e.Manager.LogTail())
	}
	return e.WaitEnforced(ctx)
}

func ready(h *v1alpha1.Holdfast) bool {
	for _, c := range h.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// Namespace makes a namespace for one test.
func (e *Env) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: made()}}
	if err := e.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("make namespace: %v", err)
	}
	return ns.Name
}

// As returns a client for another user, by impersonation.
func (e *Env) As(t testing.TB, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(e.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatalf("make client for %s: %v", user, err)
	}
	return c
}

// Delete deletes an object as an administrator, and retries a refusal that is Unchecked.
func (e *Env) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, installTimeout, true, func(ctx context.Context) (bool, error) {
		last = e.Client.Delete(ctx, o, opts...)
		return !Unchecked(last), nil
	})
	return cmp.Or(last, err)
}

// Unchecked reports whether the deletion guard refused a delete because it could not list the dependents in time.
// It fails closed, which on a busy machine is no verdict on the object.
func Unchecked(err error) bool {
	return err != nil && (apierrors.IsServiceUnavailable(err) || strings.Contains(err.Error(), "could not be looked at"))
}

// Grant lets a user do something: in a namespace, or cluster-wide where it is
// empty. The API server's authorizer may take a moment to see it; Grant waits
// until it does.
func (e *Env) Grant(t testing.TB, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	if err := e.grant(t.Context(), namespace, user, rules); err != nil {
		t.Fatalf("grant %s: %v", user, err)
	}
}
