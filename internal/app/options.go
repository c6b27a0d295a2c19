// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/cli/flag"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/flags"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// Common are the options that every workload has. They are fixed while the process
// runs. All else is in the configuration.
type Common struct {
	Kubeconfig string
	Namespace  string

	ConfigFile   string
	ConfigMap    string
	FeatureGates string
	// ApplyCRDs has the workload apply its CustomResourceDefinitions when it starts.
	ApplyCRDs bool

	// EmulatedVersion of Holdfast, whose feature gates are as mature as then.
	EmulatedVersion string

	MetricsBindAddress string
	ProbeBindAddress   string
	PprofBindAddress   string

	LeaderElect   bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration

	LogLevel string

	// DividePausesBy is for tests of a whole process, which need not sit out what it waits for.
	DividePausesBy int
}

// Options are those of the guard.
type Options struct {
	Common

	WebhookBindAddress string
	WebhookService     string
	WebhookServicePort int32
	WebhookURL         string

	// Hierarchy are the flags of HNC.
	Hierarchy flags.Flags
}

const dividePausesBy = "divide-pauses-by"

func newCommon() Common {
	return Common{
		Namespace:          "holdfast-system",
		ApplyCRDs:          true,
		MetricsBindAddress: ":8080",
		ProbeBindAddress:   ":8081",
		LeaderElect:        true,
		LeaseDuration:      15 * time.Second,
		RenewDeadline:      10 * time.Second,
		RetryPeriod:        2 * time.Second,
		LogLevel:           "info",
		DividePausesBy:     1,
	}
}

// NewOptions are the defaults: in a cluster, with the chart's names.
func NewOptions() *Options {
	return &Options{
		Common:             newCommon(),
		WebhookBindAddress: ":9443",
		WebhookService:     "holdfast-guard",
		WebhookServicePort: 443,
	}
}

// Flags are the command line, in sections.
func (o *Options) Flags() flag.NamedFlagSets {
	var sets flag.NamedFlagSets
	o.addClusterFlags(sets.FlagSet("Cluster"))
	o.addConfigurationFlags(sets.FlagSet("Configuration"))
	o.addWebhookFlags(sets.FlagSet("Webhooks"))
	o.addOperationFlags(sets.FlagSet("Operation"))
	o.Hierarchy.AddTo(sets.FlagSet("Hierarchy"))
	return sets
}

func (o *Common) addClusterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig,
		"kubeconfig of the API server to work on. Without it, the one that the pod runs in.")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace,
		"namespace in that API server that Holdfast keeps its own objects in.")
	fs.BoolVar(&o.ApplyCRDs, "apply-crds", o.ApplyCRDs,
		"apply the CustomResourceDefinitions of the features that are on, and upgrade them. None is ever deleted, or made older.")
}

func (o *Common) addConfigurationFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "config", o.ConfigFile,
		"file that holds a HoldfastConfiguration; a change is picked up. Without this and --config-map the defaults are in force.")
	fs.StringVar(&o.ConfigMap, "config-map", o.ConfigMap,
		"ConfigMap in --namespace whose key config.yaml holds a HoldfastConfiguration; a change is picked up at once.")
	fs.StringVar(&o.FeatureGates, "feature-gates", o.FeatureGates,
		"feature gates, as A=true,B=false or as +A,-B. They go before those of the configuration.")
	fs.StringVar(&o.EmulatedVersion, "emulated-version", o.EmulatedVersion,
		"release of Holdfast, as major.minor, whose feature gates to have. Default: this one.")
}

func (o *Options) addWebhookFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.WebhookBindAddress, "webhook-bind-address", o.WebhookBindAddress,
		"address that the webhooks are served on.")
	fs.StringVar(&o.WebhookService, "webhook-service", o.WebhookService,
		"Service in --namespace by which the API server reaches the webhooks.")
	fs.Int32Var(&o.WebhookServicePort, "webhook-service-port", o.WebhookServicePort, "port of that Service.")
	fs.StringVar(&o.WebhookURL, "webhook-url", o.WebhookURL,
		"URL by which the API server reaches the webhooks, in place of the Service; for an API server that Holdfast does not run in.")
}

func (o *Common) addOperationFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress, "address of /metrics; 0 serves none.")
	fs.StringVar(&o.ProbeBindAddress, "health-probe-bind-address", o.ProbeBindAddress, "address of /healthz and /readyz; 0 serves none.")
	fs.StringVar(&o.PprofBindAddress, "pprof-bind-address", o.PprofBindAddress,
		"address of /debug/pprof, for a look into time and memory; whoever reaches it reads them, so keep it on loopback. Default: none.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect,
		"let one of several replicas write.")
	fs.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration,
		"time after which another replica takes over from a leader that crashed.")
	fs.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline,
		"time for which a leader tries to renew before it gives up.")
	fs.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", o.RetryPeriod, "time between two tries.")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error.")
	fs.IntVar(&o.DividePausesBy, dividePausesBy, o.DividePausesBy, "divide the pauses between looks by this number; for tests.")
	_ = fs.MarkHidden(dividePausesBy) // fails for a flag that is not there
}

func (o *Common) validate() []error {
	var errs []error
	if o.Namespace == "" {
		errs = append(errs, errors.New("--namespace is empty"))
	}
	if o.ConfigFile != "" && o.ConfigMap != "" {
		errs = append(errs, errors.New("--config and --config-map are both given; give one"))
	}
	if o.DividePausesBy < 1 {
		errs = append(errs, fmt.Errorf("--%s %d is less than 1", dividePausesBy, o.DividePausesBy))
	}
	return errs
}

// pauses are those of this process.
func (o *Common) pauses() timing.Pauses { return timing.Production().DividedBy(o.DividePausesBy) }

// Validate checks the options.
func (o *Options) Validate() error {
	errs := o.validate()
	if o.WebhookURL != "" {
		if u, err := url.Parse(o.WebhookURL); err != nil || u.Scheme != "https" || u.Host == "" || u.Path != "" {
			errs = append(errs, fmt.Errorf("--webhook-url %q is not of the form https://HOST[:PORT]", o.WebhookURL))
		}
	}
	if _, _, err := o.webhookHostPort(); err != nil {
		errs = append(errs, fmt.Errorf("--webhook-bind-address: %w", err))
	}
	if _, err := o.Hierarchy.Read(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *Options) webhookHostPort() (string, int, error) {
	host, port, err := net.SplitHostPort(o.WebhookBindAddress)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return "", 0, fmt.Errorf("port %q is not a number", port)
	}
	return host, n, nil
}

func (o *Options) endpoint() admission.Endpoint {
	return admission.Endpoint{
		URL:     o.WebhookURL,
		Service: types.NamespacedName{Namespace: o.Namespace, Name: o.WebhookService},
		Port:    o.WebhookServicePort,
	}
}

// webhookHosts are the names that the serving certificate is for.
func (o *Options) webhookHosts() []string {
	if o.WebhookURL != "" {
		u, err := url.Parse(o.WebhookURL)
		if err != nil { // Validate has refused it
			return nil
		}
		return []string{u.Hostname()}
	}
	service := o.WebhookService + "." + o.Namespace
	return []string{service + ".svc", service + ".svc.cluster.local", service}
}
