// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/responder"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/tally"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const eventSource = "holdfast-guard"

// Options of a Guard.
type Options struct {
	Manager  ctrl.Manager
	Metadata metadata.Interface
	Client   kubernetes.Interface
	// Protection is asked where the configuration refuses to evict what is protected
	// from deletion.
	Protection Protection
	// Config is what is in force, with its scope; it must be safe for concurrent
	// use.
	Config func() (configv1alpha1.EvictionConfiguration, scope.Scope)
	// Respond says whether the gate ResponderGate is on; it must be safe for
	// concurrent use.
	Respond func() bool
	// Changed is called when the webhooks that are wanted may be others.
	Changed func()
	Pauses  timing.Pauses
}

// Guard is the guard for evictions.
type Guard struct {
	o          Options
	policies   *policySet
	handler    *handler
	filter     *filter
	cache      *watch
	waiting    *watch
	controller *controller
	tally      *tally.Tally[counts]
	checks     *checks
	// responder answers Evictions of lifecycle.k8s.io, which evictions follows.
	responder *responder.Responder
	evictions *watch
	// synced says whether all policies are known.
	synced func() bool
}

// NewGuard makes a Guard and connects its parts.
func NewGuard(o Options) *Guard {
	g := &Guard{o: o, filter: &filter{}, synced: func() bool { return false }}
	g.policies = newPolicySet(g.policyChanged)
	held := newWaiting(o.Client, func(name string) { g.controller.changed(name) })
	g.controller = &controller{
		client: o.Manager.GetClient(), live: o.Manager.GetAPIReader(), policies: g.policies, waiting: held,
		settings: g.settings, clock: clock.RealClock{},
	}
	g.tally = tally.New((*counts).add, g.controller.write, o.Pauses)
	g.cache = newWatch(o.Metadata, watch{
		settings: g.settings, handler: nothing{}, pauses: o.Pauses,
		wanted: func(_ context.Context, s settings) bool { return s.config.Pods == configv1alpha1.PodsCached },
	})
	g.waiting = newWatch(o.Metadata, watch{
		label: v1alpha1.EvictingLabel, leaderOnly: true, settings: g.settings, handler: held, pauses: o.Pauses,
		wanted: func(context.Context, settings) bool { return len(g.policies.names()) > 0 || held.all() > 0 },
	})
	pods := &pods{client: o.Client, cached: g.cache.get, clock: clock.RealClock{}, pauses: o.Pauses}
	g.checks = newChecks(o.Client, g.settings, pods.withoutRights, o.Pauses)
	g.handler = &handler{judge: &judge{
		pods:     pods,
		facts:    &lookup{client: o.Client, metadata: o.Metadata, protected: o.Protection, clock: clock.RealClock{}, pauses: o.Pauses},
		settings: g.settings,
		ready:    g.Ready,
		counted:  func(v policy.Verdict) { g.tally.Add(v.Policy, countsOf(v, clock.RealClock{}.Now())) },
		events:   podEvents{o.Manager.GetEventRecorder(eventSource)},
		observer: admission.NewObserver(o.Manager.GetEventRecorder(eventSource)),
		filter:   g.filter,
		clock:    clock.RealClock{},
	}}
	g.setupResponder()
	return g
}

// settings are what is in force now.
func (g *Guard) settings() settings {
	c, s := g.o.Config()
	return settings{config: c, scope: s, policy: policy.NewSettings(c, g.policies.all())}
}

// SetupWithManager adds the parts to the manager: what knows and answers to every
// replica, what writes to the leader.
func (g *Guard) SetupWithManager(ctx context.Context, mgr ctrl.Manager) (err error) {
	if g.synced, err = g.policies.follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := g.controller.setupWithManager(mgr); err != nil {
		return fmt.Errorf("set up EvictionPolicies: %w", err)
	}
	if err := g.responder.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the responder: %w", err)
	}
	for _, part := range []interface{ Start(context.Context) error }{g.filter, g.cache, g.waiting, g.evictions, g.tally, g.checks} {
		if err := mgr.Add(part); err != nil {
			return err
		}
	}
	return nil
}

// policyChanged wakes whatever goes by the policies.
func (g *Guard) policyChanged(name string) {
	g.controller.changed(name)
	g.waiting.Wake()
	g.o.Changed()
}

// Wake asks for another look at the configuration. It never blocks.
func (g *Guard) Wake() {
	g.cache.Wake()
	g.waiting.Wake()
	g.evictions.Wake()
	g.checks.Wake()
	for _, name := range g.policies.names() {
		g.controller.changed(name) // its status says what the mode is
	}
}

// Ready says whether this replica knows what it needs to answer the webhook.
func (g *Guard) Ready() error {
	if !g.synced() {
		return errors.New("the EvictionPolicies are not known yet")
	}
	return nil
}

// Conditions say what is wrong around the guard that it cannot mend itself. The
// status of one that has not been looked at yet is Unknown.
func (g *Guard) Conditions() []metav1.Condition { return g.checks.conditions() }

// Webhooks are those of the guard. The one for evictions fails open unless the
// configuration says otherwise: while no replica answers, pods go as if there were
// no guard. It is off where nothing could come of it.
func (g *Guard) Webhooks(c configv1alpha1.EvictionConfiguration, where scope.Scope) []admission.Webhook {
	drainCleaner := ptr.Deref(c.DrainCleaner.Enabled, true)
	mode := c.Mode
	if !drainCleaner && c.ProtectedPods != configv1alpha1.ProtectedPodsRefused && len(g.policies.names()) == 0 {
		mode = configv1alpha1.ModeOff
	}
	onOutage := admissionregistrationv1.Ignore
	if c.OnOutage == configv1alpha1.OutageRefuses && c.Mode == configv1alpha1.ModeEnforce {
		onOutage = admissionregistrationv1.Fail
	}
	selection := where.LabelSelection() // the handler lets go of the rest
	if c.Filter == configv1alpha1.FilterSelector {
		selection = where.Selection()
	}
	return []admission.Webhook{g.validation(c), {
		Name: webhookName(c), Mode: mode, Path: Path, Handler: g.handler, Scope: selection,
		Spec: admissionregistrationv1.ValidatingWebhook{
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"},
					Scope: ptr.To(admissionregistrationv1.NamespacedScope),
				},
			}},
			FailurePolicy:  &onOutage,
			SideEffects:    ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds: new(int32(webhookTimeout.Seconds())),
		},
	}}
}

// webhookName is that of the Drain Cleaner where its rules are in force.
func webhookName(c configv1alpha1.EvictionConfiguration) string {
	if ptr.Deref(c.DrainCleaner.Enabled, true) {
		return policy.DrainCleanerWebhook
	}
	return policy.Webhook
}

func (g *Guard) validation(c configv1alpha1.EvictionConfiguration) admission.Webhook {
	return admission.Validation("EvictionPolicy", "evictionpolicies", c.Mode != configv1alpha1.ModeOff, func(in *v1alpha1.EvictionPolicy) field.ErrorList {
		_, problems := policy.Compile(in)
		return problems
	})
}

// podEvents sends events about pods.
type podEvents struct{ recorder events.EventRecorder }

func (p podEvents) send(o *metav1.ObjectMeta, e policy.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	about := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, UID: o.UID}}
	p.recorder.Eventf(about, nil, kind, e.Reason, "Evict", "%s", e.Message)
}
