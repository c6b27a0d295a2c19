// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion"
	"github.com/holdfast-dev/holdfast/internal/eviction"
	"github.com/holdfast-dev/holdfast/internal/hierarchy"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/keep"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership/writers"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/rootsync/identity"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount"
)

// feature is what the process needs to know of a feature.
type feature struct {
	name string
	// mode and scope are its parts of the configuration.
	mode  func(*configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode
	scope func(*configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope
	// policies, which may be nil, and webhooks it wants in the API server, in its
	// scope. A feature with policies writes marks.
	policies func(*configv1alpha1.HoldfastConfiguration, scope.Selection) []admission.Policy
	webhooks func(*configv1alpha1.HoldfastConfiguration, scope.Scope) []admission.Webhook
	// setup adds its controllers to the manager, and wake asks them to look at the
	// configuration again.
	setup func(context.Context, ctrl.Manager) error
	wake  func()
	// ready says what it still lacks to answer.
	ready func() error
	// conditions say what is wrong around it; may be nil.
	conditions func() []metav1.Condition
}

// bounds is what is left of the scope of all features where one of them narrows it.
func bounds(scopes ...configv1alpha1.Scope) scope.Scope {
	s, err := scope.Compile(scopes...)
	if err != nil { // the loader has compiled it
		ctrl.Log.Error(err, "Scope cannot be compiled")
	}
	return s
}

// newFeatures makes all features; it is the only list of them.
func (g *guard) newFeatures() ([]feature, error) {
	pauses := g.options.pauses()
	guarding := deletion.NewGuard(deletion.Options{
		Manager: g.mgr, Kinds: g.kinds, Metadata: g.metadata, Client: g.clientset, Pauses: pauses, User: g.user, Bound: g.admission.Wake,
		Config: func() (configv1alpha1.DeletionConfiguration, scope.Scope) {
			c := g.config.Current()
			return c.Deletion, bounds(c.Scope, c.Deletion.Scope)
		},
	})
	guarding.RegisterMetrics(metrics.Registry)
	g.marksBound = guarding.MarksBound
	evicting := eviction.NewGuard(eviction.Options{
		Manager: g.mgr, Metadata: g.metadata, Client: g.clientset, Protection: guarding, Pauses: pauses,
		Config: func() (configv1alpha1.EvictionConfiguration, scope.Scope) {
			c := g.config.Current()
			return c.Eviction, bounds(c.Scope, c.Eviction.Scope)
		},
		Respond: func() bool { return g.gates.Enabled(eviction.ResponderGate) },
		Changed: g.admission.Wake,
	})
	eviction.RegisterMetrics(metrics.Registry)
	trees, err := hierarchy.NewGuard(hierarchy.Options{
		Manager: g.mgr, Dynamic: g.dynamic, Client: g.clientset, Kinds: g.kinds, Namespace: g.options.Namespace, Users: []string{g.user}, Pauses: pauses,
		Config: g.config.Current,
		Changed: func() {
			g.admission.Wake()
			g.status.Wake()
		},
	})
	if err != nil {
		return nil, err
	}
	keep.RegisterMetrics(metrics.Registry)
	admit.RegisterMetrics(metrics.Registry)
	accounts := serviceaccount.New(serviceaccount.Options{
		Manager: g.mgr, Dynamic: g.dynamic, Metadata: g.metadata, Kinds: g.kinds, Pauses: pauses,
		Config: func() (configv1alpha1.ServiceAccountsConfiguration, scope.Scope) {
			c := g.config.Current()
			return c.ServiceAccounts, bounds(c.Scope, c.ServiceAccounts.Scope)
		},
		Patching: func() bool { return g.gates.Enabled(serviceaccount.PatchingGate) },
		Changed:  g.status.Wake,
	})
	accounts.RegisterMetrics(metrics.Registry)
	return []feature{
		{
			name:  "deletion",
			mode:  func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode { return c.Deletion.Mode },
			scope: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope { return c.Deletion.Scope },
			policies: func(c *configv1alpha1.HoldfastConfiguration, s scope.Selection) []admission.Policy {
				return deletion.Policies(deletion.PolicyOptions{
					Config: c.Deletion, Scope: s, Users: []string{g.user}, ByDefault: g.gates.Enabled(deletion.ByDefaultGate),
					Undecided: g.bindingMarks(c),
				})
			},
			webhooks: func(c *configv1alpha1.HoldfastConfiguration, s scope.Scope) []admission.Webhook {
				return guarding.Webhooks(c.Deletion, s.Selection())
			},
			setup: guarding.SetupWithManager,
			wake:  guarding.Wake,
			ready: guarding.Ready,
		},
		{
			name:  "eviction",
			mode:  func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode { return c.Eviction.Mode },
			scope: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope { return c.Eviction.Scope },
			webhooks: func(c *configv1alpha1.HoldfastConfiguration, s scope.Scope) []admission.Webhook {
				return evicting.Webhooks(c.Eviction, s)
			},
			setup:      evicting.SetupWithManager,
			wake:       evicting.Wake,
			ready:      evicting.Ready,
			conditions: evicting.Conditions,
		},
		{
			name: "hierarchy",
			mode: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode { return c.Hierarchy.Mode },
			scope: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope {
				return settings.Scope(&c.Hierarchy)
			},
			policies: func(*configv1alpha1.HoldfastConfiguration, scope.Selection) []admission.Policy {
				return trees.Policies()
			},
			webhooks:   func(*configv1alpha1.HoldfastConfiguration, scope.Scope) []admission.Webhook { return trees.Webhooks() },
			setup:      trees.SetupWithManager,
			wake:       trees.Wake,
			ready:      trees.Ready,
			conditions: trees.Conditions,
		},
		{
			name: "serviceAccounts",
			mode: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Mode {
				return configv1alpha1.Mode(c.ServiceAccounts.Mode)
			},
			scope: func(c *configv1alpha1.HoldfastConfiguration) configv1alpha1.Scope { return c.ServiceAccounts.Scope },
			webhooks: func(c *configv1alpha1.HoldfastConfiguration, _ scope.Scope) []admission.Webhook {
				return accounts.Webhooks(c.ServiceAccounts)
			},
			setup:      accounts.SetupWithManager,
			wake:       accounts.Wake,
			ready:      accounts.Ready,
			conditions: accounts.Conditions,
		},
	}, nil
}

// gateSpecs are the feature gates of all features.
var gateSpecs = map[featuregate.Feature]featuregate.VersionedSpecs{
	serviceaccount.PatchingGate: serviceaccount.PatchingSpecs,
	deletion.ByDefaultGate:      {{Version: version.MustParse("0.1"), Default: false, PreRelease: featuregate.Alpha}},
	eviction.ResponderGate:      {{Version: version.MustParse("0.1"), Default: false, PreRelease: featuregate.Alpha}},
}

// crdGroups are the groups of the CRDs that Holdfast brings.
var crdGroups = []string{v1alpha1.GroupName}

// syncCRDGroups are those of the sync.
var syncCRDGroups = []string{configsyncv1beta1.GroupName, kptv1alpha1.GroupName}

// featureStatus says in which mode each feature is.
func (g *guard) featureStatus(c *configv1alpha1.HoldfastConfiguration) []v1alpha1.FeatureStatus {
	out := make([]v1alpha1.FeatureStatus, 0, len(g.features))
	for _, f := range g.features {
		out = append(out, v1alpha1.FeatureStatus{Name: f.name, Mode: string(f.mode(c))})
	}
	return out
}

// bindingMarks reports whether an upgrade is still binding marks that an older version wrote without a UID. Until it is
// done, the policies of that version stay in force.
func (g *guard) bindingMarks(c *configv1alpha1.HoldfastConfiguration) bool {
	if c.Deletion.Mode == configv1alpha1.ModeOff || g.marksBound() {
		return false
	}
	err := g.mgr.GetClient().Get(context.Background(), client.ObjectKey{Name: marks.UnboundPolicy}, &admissionregistrationv1.ValidatingAdmissionPolicy{})
	return err == nil // a read from the cache: the only error is NotFound
}

// declare collects what a configuration wants in the API server.
func (g *guard) declare(c *configv1alpha1.HoldfastConfiguration, self admission.Self) (admission.Declaration, error) {
	self.Mode = c.Admission.SelfProtection
	// The sync is another identity, which writes claims too and is bounded.
	syncUser := "system:serviceaccount:" + self.Namespace + ":" + syncName
	self.CRDGroups, self.FeatureCRDGroups = crdGroups, groupsOf(c)
	self.SyncUser, self.SyncCRDGroups = syncUser, syncCRDGroups
	d := admission.Declaration{Policies: self.Policies(), Webhooks: g.configurationWebhook()}
	marked := configv1alpha1.ModeOff
	for _, f := range g.features {
		s, err := scope.Compile(c.Scope, f.scope(c))
		if err != nil {
			return admission.Declaration{}, err
		}
		d.Webhooks = append(d.Webhooks, f.webhooks(c, s)...)
		if f.policies == nil {
			continue
		}
		d.Policies = append(d.Policies, f.policies(c, s.Selection())...)
		if f.mode(c) != configv1alpha1.ModeOff {
			marked = configv1alpha1.ModeEnforce // a mark that can be faked is worth nothing, whatever the verdicts do
		}
	}
	if g.bindingMarks(c) {
		d.Policies = append(d.Policies, marks.UnboundPolicies()...)
	} else {
		d.Policies = append(d.Policies, marks.Policies(marked, self.Users)...)
		d.Webhooks = append(d.Webhooks, marks.Webhook(marked, self.Users))
	}
	d.Policies = append(d.Policies, writers.Policy(marked, append(slices.Clone(self.Users), syncUser)), identity.Policy(self.Mode, syncUser))
	return d, nil
}
