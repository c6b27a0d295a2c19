// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/certs"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/features"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/metaclient"
	"github.com/holdfast-dev/holdfast/internal/platform/serving"
	"github.com/holdfast-dev/holdfast/internal/platform/status"
)

// name is the guard's: of its leader election, and of its events' source.
const name = "holdfast-guard"

// guard is the process, put together.
type guard struct {
	options *Options
	mgr     ctrl.Manager
	// user is the name under which the API server knows this process.
	user string

	gates     *features.Gates
	overrides []config.Override
	// mistakes are those in the environment, which is read once.
	mistakes  []string
	config    *config.Store
	certs     *certs.Manager
	webhooks  *serving.Server
	admission *admission.Reconciler
	status    *status.Reconciler
	kinds     *inventory.Kinds
	inventory *dormant
	crds      *featureCRDs
	metadata  metadata.Interface
	dynamic   dynamic.Interface
	clientset kubernetes.Interface
	features  []feature
	informers []cache.Informer
	// definitions are the names of the CustomResourceDefinitions of holdfast.dev.
	definitions []string
	// marksBound reports whether the deletion guard's informers have synced and every mark is bound to its object.
	marksBound func() bool
}

// newGuard puts the process together. What it needs of the API server it asks
// for here, so that a missing piece is an error with a remedy and not a
// controller that never starts.
func newGuard(ctx context.Context, o *Options) (*guard, error) {
	rc, err := restConfig(o.Kubeconfig, name)
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	direct, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if err := require(ctx, direct, o.crds(direct)); err != nil {
		return nil, err
	}
	if err := refuseSecond(ctx, direct, o); err != nil {
		return nil, err
	}
	g := &guard{options: o}
	if g.user, err = whoAmI(ctx, direct); err != nil {
		return nil, err
	}
	if err := g.configure(ctx, direct); err != nil {
		return nil, err
	}
	g.crds = newFeatureCRDs(o.crds(direct), g.config.Current, o.pauses().CRDsAgain)
	if err := g.crds.apply(ctx); err != nil { // the other features do not wait for it
		ctrl.Log.Error(err, "CustomResourceDefinitions are not applied yet")
	}
	leader, err := g.newManager(ctx, rc, scheme)
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if g.informers, err = startInformers(ctx, g.mgr.GetCache(), cachedObjects(o)); err != nil {
		return nil, err
	}
	if err := g.newClients(rc, leader); err != nil {
		return nil, err
	}
	return g, g.setup(ctx)
}

// configure reads the configuration that the process starts with.
func (g *guard) configure(ctx context.Context, direct client.Reader) (err error) {
	if g.gates, err = features.New(gateSpecs, g.options.EmulatedVersion); err != nil {
		return err
	}
	if err := g.readEnvironment(); err != nil {
		return err
	}
	if g.config, err = loadConfiguration(ctx, &g.options.Common, g.loader(), direct); err != nil {
		return err
	}
	return g.applyGates()
}

// newClients makes the clients that read past the cache. Webhooks ask and write by the clientset, on every replica; by the
// others the leader writes.
func (g *guard) newClients(rc, leader *rest.Config) error {
	var err error
	if g.metadata, err = metaclient.NewForConfig(leader); err != nil {
		return fmt.Errorf("make metadata client: %w", err)
	}
	if g.clientset, err = kubernetes.NewForConfig(rc); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if g.dynamic, err = dynamic.NewForConfig(leader); err != nil {
		return fmt.Errorf("make dynamic client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		return fmt.Errorf("make discovery client: %w", err)
	}
	g.kinds = inventory.NewKinds(d, g.dynamic, g.metadata)
	return nil
}

// restConfig is for the API server that the workload is about. There is no client-side rate limit:
// the API server's priority and fairness is the limit.
func restConfig(kubeconfig, userAgent string) (*rest.Config, error) {
	rc, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w; outside a cluster give --kubeconfig", err)
	}
	rc.QPS = -1
	rc.UserAgent = userAgent
	// The API server is near. Each watch would cost a compressor there and a window here, more
	// than all else that is kept for most kinds.
	rc.DisableCompression = true
	return rc, nil
}

// newManager makes the manager, and returns the configuration of the leader's clients.
func (g *guard) newManager(ctx context.Context, rc *rest.Config, scheme *schemeType) (leader *rest.Config, err error) {
	o := g.options
	host, port, err := o.webhookHostPort()
	if err != nil {
		return nil, err
	}
	lock, leader, err := o.elect(ctx, rc, scheme, name)
	if err != nil {
		return nil, err
	}
	options := o.managerOptions(name, scheme, cacheOptions(o, g.secretName()), lock)
	g.webhooks = serving.NewServer(serving.Options{
		Host:           host,
		Port:           port,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return g.certs.GetCertificate(hello) },
		Clients:        func() configv1alpha1.WebhookClients { return g.config.Current().Admission.WebhookClients },
	})
	options.WebhookServer = g.webhooks
	g.mgr, err = ctrl.NewManager(leader, options)
	return leader, err
}

// managerOptions are those of every workload; the name is that of its lease.
func (o *Common) managerOptions(name string, scheme *schemeType, cached cache.Options, lock resourcelock.Interface) ctrl.Options {
	return ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cached,
		Client:                        client.Options{Cache: &client.CacheOptions{}},
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsBindAddress},
		HealthProbeBindAddress:        o.ProbeBindAddress,
		PprofBindAddress:              o.PprofBindAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,

		LeaderElectionResourceLockInterface: lock,
	}
}

// setup makes the parts and connects them.
func (g *guard) setup(ctx context.Context) error {
	mgr, o := g.mgr, g.options
	certMetrics, err := certs.NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	g.certs = certs.New(certs.Options{
		Client: mgr.GetClient(),
		Secret: types.NamespacedName{Namespace: o.Namespace, Name: g.secretName()},
		Settings: func() certs.Settings {
			return certs.SettingsOf(g.config.Current().Certificates, o.webhookHosts())
		},
		Metrics: certMetrics,
		Pauses:  o.pauses(),
	})
	g.admission = admission.NewReconciler(mgr.GetClient(), admission.Options{
		Endpoint: o.endpoint(),
		Wanted:   g.wanted,
		Changed:  func() { g.status.Wake() },
		Repaired: func(what string) { g.status.Event(context.Background(), v1alpha1.ReasonRestored, "Restore", what) },
		Clock:    clock.RealClock{},
	})
	g.status = status.NewReconciler(mgr.GetClient(), mgr.GetEventRecorder(name), clock.RealClock{}, g.observe, o.pauses())
	if g.definitions, err = definitionNames(crdGroups...); err != nil {
		return err
	}
	g.kinds.OnChange(g.status.Wake)
	if g.features, err = g.newFeatures(); err != nil {
		return err
	}
	declared, err := g.declare(g.config.Current(), g.self())
	if err != nil {
		return err
	}
	for _, w := range declared.Webhooks {
		mgr.GetWebhookServer().Register(w.Path, w.Handler)
	}
	admission.RegisterMetrics(metrics.Registry, declared.Webhooks)
	g.webhooks.RegisterMetrics(metrics.Registry)
	marks.RegisterMetrics(metrics.Registry)
	status.RegisterMetrics(metrics.Registry)
	if err := config.RegisterMetrics(metrics.Registry, g.config); err != nil {
		return err
	}
	g.config.OnChange(g.configurationChanged)
	return g.addToManager(ctx)
}

// configurationChanged wakes whatever goes by the configuration.
func (g *guard) configurationChanged() {
	logConfiguration(g.config.Current())
	if err := g.applyGates(); err != nil { // the loader has checked them
		ctrl.Log.Error(err, "Feature gates cannot be set")
	}
	g.certs.Wake()
	g.admission.Wake()
	g.status.Wake()
	g.inventory.Wake()
	g.crds.Wake()
	for _, f := range g.features {
		f.wake()
	}
}

// addToManager adds the parts to the manager, which starts them.
func (g *guard) addToManager(ctx context.Context) error {
	mgr := g.mgr
	for _, c := range []interface{ SetupWithManager(ctrl.Manager) error }{
		g.certs,
		g.admission,
		admission.NewPublished(mgr.GetClient(), g.certs.Published),
		g.status,
	} {
		if err := c.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up controller: %w", err)
		}
	}
	// The kinds that the API server serves are for deletions, trees and accounts.
	g.inventory = newDormant(g.kinds, func() bool {
		c := g.config.Current()
		return c.Deletion.Mode != configv1alpha1.ModeOff || c.Hierarchy.Mode != configv1alpha1.ModeOff ||
			c.ServiceAccounts.Mode != configv1alpha1.ServiceAccountsOff
	})
	for _, r := range []manager.Runnable{g.inventory, g.crds} {
		if err := mgr.Add(r); err != nil {
			return err
		}
	}
	for _, f := range g.features {
		if err := f.setup(ctx, mgr); err != nil {
			return fmt.Errorf("set up %s: %w", f.name, err)
		}
	}
	if err := watchConfiguration(g.mgr, &g.options.Common, g.config); err != nil {
		return err
	}
	if err := mgr.Add(g.followCertificate(g.certs.Subscribe())); err != nil {
		return err
	}
	return g.addProbes()
}

// secretName of the certificate is fixed at start: the cache is bound to it, and
// the loader refuses a change.
func (g *guard) secretName() string { return g.config.Current().Certificates.SecretName }

// wanted is what the configuration in force wants in the API server. It has been
// validated, so that what is left to go wrong is a bug; then the last
// declaration that worked stays.
func (g *guard) wanted() (admission.Wanted, error) {
	d, err := g.declare(g.config.Current(), g.self())
	return admission.Wanted{Declaration: d, CABundle: g.certs.CABundle()}, err
}

// self is what the rules that protect Holdfast need to know.
func (g *guard) self() admission.Self {
	return admission.Self{Namespace: g.options.Namespace, ConfigMap: g.options.ConfigMap, Users: []string{g.user}}
}
