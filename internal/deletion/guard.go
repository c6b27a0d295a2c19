// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/confirm"
	"github.com/holdfast-dev/holdfast/internal/deletion/denials"
	"github.com/holdfast-dev/holdfast/internal/deletion/marker"
	"github.com/holdfast-dev/holdfast/internal/deletion/override"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/protection"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const (
	// ConfirmName is what users see of the webhook when nobody answers it.
	ConfirmName = "unless-annotated-delete-unchecked-with-its-own-name.deletion.holdfast.dev"
	confirmPath = "/confirm-deletion"
	// eventSource is whom events about overrides come from.
	eventSource = "holdfast-guard"
)

// Options of a Guard.
type Options struct {
	Manager  ctrl.Manager
	Kinds    *inventory.Kinds
	Metadata metadata.Interface
	Client   kubernetes.Interface
	// Config is what is in force, with its scope; it must be safe for concurrent
	// use.
	Config func() (configv1alpha1.DeletionConfiguration, scope.Scope)
	Pauses timing.Pauses
	// User is Holdfast's own name.
	User string
	// Bound is called when all marks are bound to their objects. It must not block.
	Bound func()
}

// Guard is the part of the deletion guard that runs in the manager. The rules
// themselves run in the API server.
type Guard struct {
	o           Options
	protections *selection.Set
	marker      *marker.Marker
	protection  *protection.Reconciler
	override    *override.Reconciler
	confirm     *confirm.Handler
	denials     *denials.Handler
	// synced says whether all protections are known.
	synced func() bool
}

// NewGuard makes a Guard and connects its parts.
func NewGuard(o Options) *Guard {
	g := &Guard{o: o, protections: selection.NewSet(), synced: func() bool { return false }}
	g.marker = marker.New(marker.Options{
		Kinds:       o.Kinds,
		Metadata:    o.Metadata,
		Client:      o.Client,
		Protections: g.protections,
		Settings: func() marker.Settings {
			c, s := o.Config()
			return marker.Settings{Rules: policy.NewRules(c), Scope: s}
		},
		Needed:       func() bool { c, _ := o.Config(); return c.Mode != configv1alpha1.ModeOff },
		Changed:      func(name string) { g.protection.Changed(name) },
		Bound:        o.Bound,
		OverrideGone: func(name string) { g.override.Gone(name) },
		Restore:      g.restore,
		Clock:        clock.RealClock{},
		Pauses:       o.Pauses,
	})
	g.protection = protection.NewReconciler(protection.Options{
		Client:      o.Manager.GetClient(),
		Protections: g.protections,
		Reporter:    g.marker,
		Mode:        func() configv1alpha1.Mode { c, _ := o.Config(); return c.Mode },
		Clock:       clock.RealClock{},
	})
	g.override = override.NewReconciler(override.Options{
		Client:   o.Manager.GetClient(),
		Metadata: o.Metadata,
		Kinds:    o.Kinds.Current,
		Stamper:  g.marker,
		Rules:    func() configv1alpha1.OverridesConfiguration { c, _ := o.Config(); return c.Overrides },
		Recorder: o.Manager.GetEventRecorder(eventSource),
		Clock:    clock.RealClock{},
	})
	g.confirm = confirm.NewHandler(confirm.Options{
		Name:        ConfirmName,
		Kinds:       o.Kinds.Current,
		Metadata:    o.Metadata,
		Client:      o.Client,
		Protections: g.protections,
		Ready:       func() bool { return g.synced() },
		Settings: func() confirm.Settings {
			c, s := o.Config()
			return confirm.Settings{Mode: c.Mode, OnOutage: c.OnOutage, Rules: policy.NewRules(c), Scope: s}
		},
		Observer: admission.NewObserver(o.Manager.GetEventRecorder(eventSource)),
		User:     o.User,
	})
	g.denials = denials.NewHandler(denials.Options{
		Live:        o.Manager.GetAPIReader(),
		Client:      o.Manager.GetClient(),
		Reviews:     o.Client,
		Protections: g.protections,
		Ready:       func() bool { return g.synced() },
		Mode:        func() configv1alpha1.Mode { c, _ := o.Config(); return c.Mode },
		Sources:     denialSources(),
		Pauses:      o.Pauses,
	})
	return g
}

// MarksBound reports whether all marks are known, and bound to their objects.
func (g *Guard) MarksBound() bool { return g.marker.Bound() }

// SetupWithManager adds the parts to the manager: what knows and answers to
// every replica, what writes to the leader.
func (g *Guard) SetupWithManager(ctx context.Context, mgr ctrl.Manager) (err error) {
	g.synced, err = protection.Follow(ctx, mgr.GetCache(), g.protections, g.marker.ProtectionChanged)
	if err != nil {
		return err
	}
	if err := g.protection.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up protections: %w", err)
	}
	if err := g.override.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up overrides: %w", err)
	}
	if err := g.denials.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up denials: %w", err)
	}
	return mgr.Add(g.marker)
}

// restore waits until all protections are known: without them marks would be taken
// away that belong there.
func (g *Guard) restore(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), g.synced) {
		return nil // the process ends
	}
	return g.override.Restore(ctx)
}

// RegisterMetrics adds the metrics of the parts to a registry.
func (g *Guard) RegisterMetrics(r prometheus.Registerer) {
	confirm.RegisterMetrics(r)
	denials.RegisterMetrics(r)
	g.marker.RegisterMetrics(r)
}

// Wake asks for another look at the configuration. It never blocks.
func (g *Guard) Wake() {
	g.marker.Wake()
	for _, name := range g.protections.All() {
		g.protection.Changed(name) // its status says what the mode is
	}
}

// Ready says whether this replica knows what it needs to answer the webhook.
func (g *Guard) Ready() error {
	if c, _ := g.o.Config(); c.Mode == configv1alpha1.ModeOff {
		return nil // nobody asks
	}
	if g.o.Kinds.Current() == nil {
		return errors.New("what the API server serves is not known yet")
	}
	if !g.synced() {
		return errors.New("the ResourceDeletionProtections are not known yet")
	}
	return nil
}

// Webhooks are those of the deletion guard: one, that looks what hangs below a
// Namespace or a CustomResourceDefinition. It fails closed or open as the
// configuration says; users then see ConfirmName.
func (g *Guard) Webhooks(c configv1alpha1.DeletionConfiguration, where scope.Selection) []admission.Webhook {
	onOutage := admissionregistrationv1.Fail
	if c.OnOutage == configv1alpha1.OutageAllows || c.Mode != configv1alpha1.ModeEnforce {
		onOutage = admissionregistrationv1.Ignore // nothing is refused by mode Audit or Warn, not even by an outage
	}
	return []admission.Webhook{{
		Name:    ConfirmName,
		Mode:    c.Mode,
		Path:    confirmPath,
		Handler: &webhook.Admission{Handler: g.confirm},
		Scope:   where,
		Spec: admissionregistrationv1.ValidatingWebhook{
			Rules: []admissionregistrationv1.RuleWithOperations{
				rule("", "namespaces", admissionregistrationv1.Delete).RuleWithOperations,
				rule("apiextensions.k8s.io", "customresourcedefinitions", admissionregistrationv1.Delete).RuleWithOperations,
			},
			FailurePolicy: &onOutage,
			SideEffects:   ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun), // Events, in mode Audit
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "stands", Expression: "!has(oldObject.metadata.deletionTimestamp)"},
				{Name: "checked", Expression: "!(" + unchecked("oldObject") + ") || " +
					"request.resource.resource == " + cel.String(policy.CustomResourceDefinitions.Resource) + " && !(" + admission.MayUnprotect().Expression + ")"},
			},
		},
	}}
}
