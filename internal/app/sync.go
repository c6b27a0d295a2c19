// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/cli/flag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/features"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/metaclient"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// syncName is the sync's: of its leader election, and of its events' source.
const syncName = "holdfast-sync"

// SyncOptions are those of the sync.
type SyncOptions struct {
	Common
	// CacheDir is for sources.
	CacheDir string
}

// NewSyncOptions are the defaults.
func NewSyncOptions() *SyncOptions {
	return &SyncOptions{Common: newCommon(), CacheDir: filepath.Join(os.TempDir(), syncName)}
}

// Flags are the command line, in sections.
func (o *SyncOptions) Flags() flag.NamedFlagSets {
	var sets flag.NamedFlagSets
	o.addClusterFlags(sets.FlagSet("Cluster"))
	o.addConfigurationFlags(sets.FlagSet("Configuration"))
	o.addOperationFlags(sets.FlagSet("Operation"))
	sets.FlagSet("Sources").StringVar(&o.CacheDir, "cache-dir", o.CacheDir,
		"folder for what is fetched from sources. It is emptied at the start, and no other process may use it.")
	return sets
}

// Validate checks the options.
func (o *SyncOptions) Validate() error {
	errs := o.validate()
	if o.CacheDir == "" {
		errs = append(errs, errors.New("--cache-dir is empty"))
	}
	return errors.Join(errs...)
}

// runSync starts everything and ends with the context.
func runSync(ctx context.Context, o *SyncOptions) error {
	rc, err := restConfig(o.Kubeconfig, syncName)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	direct, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := requireSync(ctx, direct, o.crds(direct)); err != nil {
		return err
	}
	store, err := syncConfiguration(ctx, o, direct)
	if err != nil {
		return err
	}
	lock, leader, err := o.elect(ctx, rc, scheme, syncName)
	if err != nil {
		return err
	}
	mgr, err := newSyncManager(leader, scheme, o, lock)
	if err != nil {
		return fmt.Errorf("make manager: %w", err)
	}
	if err := watchConfiguration(mgr, &o.Common, store); err != nil {
		return err
	}
	if err := config.RegisterMetrics(metrics.Registry, store); err != nil {
		return err
	}
	if err := addSync(ctx, mgr, leader, o, store); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return awaitConfigSync(ctx, direct, o.pauses()) })); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// syncConfiguration reads the configuration that the process starts with.
func syncConfiguration(ctx context.Context, o *SyncOptions, direct client.Reader) (*config.Store, error) {
	gates, err := features.New(gateSpecs, o.EmulatedVersion)
	if err != nil {
		return nil, err
	}
	store, err := loadConfiguration(ctx, &o.Common, config.Loader{Validators: validators(gates)}, direct)
	if err != nil {
		return nil, err
	}
	store.OnChange(func() { logConfiguration(store.Current()) })
	return store, nil
}

// addSync adds what follows RootSyncs.
func addSync(ctx context.Context, mgr ctrl.Manager, rc *rest.Config, o *SyncOptions, store *config.Store) error {
	d, err := dynamic.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("make dynamic client: %w", err)
	}
	m, err := metaclient.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("make metadata client: %w", err)
	}
	finder, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		return fmt.Errorf("make discovery client: %w", err)
	}
	kinds := inventory.NewKinds(finder, d, m)
	if err := mgr.Add(kinds); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which renders in a process of its own: %w", err)
	}
	s := rootsync.New(rootsync.Options{
		Manager: mgr, REST: rc, Dynamic: d, Metadata: m, Kinds: kinds, Dir: o.CacheDir, Program: program, Clock: clock.RealClock{}, Pauses: o.pauses(),
		Config: syncConfig(store),
	})
	store.OnChange(s.ConfigurationChanged)
	if err := s.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := s.RegisterMetrics(metrics.Registry); err != nil {
		return err
	}
	informers, err := startInformers(ctx, mgr.GetCache(), rootsync.CachedObjects())
	if err != nil {
		return err
	}
	return addSyncChecks(mgr, s, kinds, informers)
}

func addSyncChecks(mgr ctrl.Manager, s *rootsync.Syncer, kinds *inventory.Kinds, informers []cache.Informer) error {
	if err := mgr.AddReadyzCheck("caches", func(*http.Request) error {
		if slices.ContainsFunc(informers, func(i cache.Informer) bool { return !i.HasSynced() }) || kinds.Current() == nil {
			return errors.New("the caches are not complete yet")
		}
		return nil
	}); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("namespace", func(r *http.Request) error { return s.Home(r.Context()) }); err != nil {
		return err
	}
	return mgr.AddHealthzCheck("ping", healthz.Ping)
}

// syncConfig is the part of the configuration in force that RootSyncs go by. Each object asks for
// it, so the scope is compiled once for each configuration.
func syncConfig(store *config.Store) func() (configv1alpha1.RootSyncConfiguration, scope.Scope) {
	type compiled struct {
		from  *configv1alpha1.HoldfastConfiguration
		scope scope.Scope
	}
	var last atomic.Pointer[compiled]
	return func() (configv1alpha1.RootSyncConfiguration, scope.Scope) {
		now := store.Current()
		c := last.Load()
		if c == nil || c.from != now {
			c = &compiled{now, bounds(now.Scope)}
			last.Store(c)
		}
		return now.RootSync, c.scope
	}
}

func newSyncManager(rc *rest.Config, scheme *schemeType, o *SyncOptions, lock resourcelock.Interface) (ctrl.Manager, error) {
	byObject := rootsync.CacheOptions()
	if o.ConfigMap != "" {
		byObject[&corev1.ConfigMap{}] = cache.ByObject{
			Namespaces: map[string]cache.Config{o.Namespace: {}}, Field: fields.OneTermEqualSelector("metadata.name", o.ConfigMap),
		}
	}
	return ctrl.NewManager(rc, o.managerOptions(syncName, scheme, cache.Options{
		ByObject: byObject, ReaderFailOnMissingInformer: true, DefaultTransform: cache.TransformStripManagedFields(),
	}, lock))
}

// requireSync checks that nobody else has RootSyncs, and that the API server serves what
// they stand on, once that is applied.
func requireSync(ctx context.Context, c client.Client, own *ownCRDs) error {
	const remedy = "apply config/crd/configsync first"
	if err := refuseConfigSync(ctx, c); err != nil {
		return err
	}
	if err := own.apply(ctx, configsyncv1beta1.GroupName, kptv1alpha1.GroupName); err != nil {
		return err
	}
	for _, o := range []client.Object{&configsyncv1beta1.RootSync{}, &kptv1alpha1.ResourceGroup{}} {
		err := retry(ctx, func(context.Context) error {
			_, err := c.IsObjectNamespaced(o)
			return err
		})
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("the API server does not serve %T: %s", o, remedy)
		}
		if err != nil {
			return fmt.Errorf("ask the API server what it serves: %w", err)
		}
	}
	return nil
}

// refuseConfigSync fails while Config Sync runs: it holds no lease that would keep the
// two apart, and both would write the same objects.
func refuseConfigSync(ctx context.Context, c client.Client) error {
	var runs error
	if err := retry(ctx, func(ctx context.Context) (err error) {
		runs, err = configSync(ctx, c)
		return err
	}); err != nil {
		return fmt.Errorf("look for Config Sync: %w", err)
	}
	return runs
}

// awaitConfigSync ends the process that leads when Config Sync comes to run beside it: the
// next one refuses to start until somebody has decided. Without an answer it goes on.
func awaitConfigSync(ctx context.Context, c client.Client, p timing.Pauses) error {
	ticker := time.NewTicker(p.ConfigSyncLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if runs, err := configSync(ctx, c); err == nil && runs != nil {
			return runs
		}
	}
}

// configSync says that Config Sync runs, as an error; err is why that is not known.
func configSync(ctx context.Context, c client.Client) (runs, err error) {
	const name = "reconciler-manager"
	d := &appsv1.Deployment{}
	err = c.Get(ctx, client.ObjectKey{Namespace: object.SyncNamespace, Name: name}, d)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0 && d.Status.Replicas == 0:
		return nil, nil
	}
	return fmt.Errorf("refuse to run beside Config Sync: the Deployment %s in %s has replicas. Two that sync the same RootSyncs work against each other: "+
		"kubectl scale deployment %s -n %s --replicas=0, then delete its reconcilers, as docs/guides/from-config-sync.md says", name, object.SyncNamespace, name, object.SyncNamespace), nil
}
