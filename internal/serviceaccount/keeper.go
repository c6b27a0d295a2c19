// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

const eventSource = "holdfast-guard"

// Options of a Keeper.
type Options struct {
	Manager  ctrl.Manager
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Kinds are those that the API server serves.
	Kinds *inventory.Kinds
	// Config is what is in force, with its scope; it must be safe for concurrent use.
	Config func() (configv1alpha1.ServiceAccountsConfiguration, scope.Scope)
	// Patching says whether the gate PatchingGate is on; it must be safe for concurrent
	// use.
	Patching func() bool
	// Changed is called when the conditions may be others.
	Changed func()
	Pauses  timing.Pauses
}

// Keeper keeps service accounts.
type Keeper struct {
	o         Options
	templates *templates
	known     *known
	follower  *follower
	accounts  *accountController
	status    *statusController
	synced    func() bool
}

// New makes a Keeper and connects its parts.
func New(o Options) *Keeper {
	k := &Keeper{o: o, synced: func() bool { return false }}
	config := func() configv1alpha1.ServiceAccountsConfiguration {
		c, _ := o.Config()
		return c
	}
	k.templates = newTemplates(k.templateChanged)
	k.known = newKnown(clock.RealClock{}, func(key types.NamespacedName) { k.accounts.touched(key) }, func(name string) { k.status.changed(name) }, o.Changed, o.Pauses)
	k.accounts = &accountController{
		known: k.known, fights: newFights(clock.RealClock{}), returns: newReturns(clock.RealClock{}),
		events: newTeller(o.Manager.GetEventRecorder(eventSource)), config: o.Config, patching: o.Patching,
		started: make(chan struct{}),
	}
	k.status = &statusController{
		client: o.Manager.GetClient(), templates: k.templates, known: k.known, kinds: o.Kinds.Current, config: o.Config, patching: o.Patching,
	}
	k.follower = &follower{
		config: config, kinds: o.Kinds.Current, templates: k.templates, templatesKnown: func() bool { return k.synced() }, known: k.known,
		dynamic: o.Dynamic, metadata: o.Metadata, pauses: o.Pauses, started: k.accounts.started, wake: make(chan struct{}, 1),
	}
	o.Kinds.OnChange(func() {
		k.follower.Wake()
		k.sayAll()
	})
	return k
}

// SetupWithManager adds the parts to the manager.
func (k *Keeper) SetupWithManager(ctx context.Context, mgr ctrl.Manager) (err error) {
	if k.synced, err = k.templates.follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if k.accounts.writer, err = newWriter(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
		return err
	}
	if err := k.accounts.setupWithManager(mgr); err != nil {
		return fmt.Errorf("set up service accounts: %w", err)
	}
	if err := k.status.setupWithManager(mgr); err != nil {
		return fmt.Errorf("set up ServiceAccountTemplates: %w", err)
	}
	return mgr.Add(k.follower)
}

func (k *Keeper) templateChanged(name string) {
	k.follower.Wake()
	k.status.changed(name)
}

// Wake asks for another look at the configuration, and at the kinds that the API
// server serves. It never blocks.
func (k *Keeper) Wake() {
	k.follower.Wake()
	k.known.again()
	k.sayAll()
}

// sayAll has the status of all templates looked at.
func (k *Keeper) sayAll() {
	for _, name := range k.templates.names() {
		k.status.changed(name)
	}
}

// Ready says whether this replica knows what it needs to answer the webhook.
func (k *Keeper) Ready() error {
	if !k.synced() {
		return errors.New("the ServiceAccountTemplates are not known yet")
	}
	return nil
}

// Webhooks are those for ServiceAccountTemplates.
func (k *Keeper) Webhooks(c configv1alpha1.ServiceAccountsConfiguration) []admission.Webhook {
	return []admission.Webhook{admission.Validation(
		"ServiceAccountTemplate", "serviceaccounttemplates", c.Mode != configv1alpha1.ServiceAccountsOff,
		func(in *v1alpha1.ServiceAccountTemplate) field.ErrorList {
			_, problems := mapping.Compile(in)
			return problems
		},
	)}
}

// Conditions say what is wrong around it that it cannot mend itself; none while the
// feature is off.
func (k *Keeper) Conditions() []metav1.Condition {
	c, _ := k.o.Config()
	if c.Mode == configv1alpha1.ServiceAccountsOff {
		return nil
	}
	out := metav1.Condition{
		Type: v1alpha1.ConditionServiceAccountsKept, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAlone,
		Message: "no operator runs beside Holdfast that writes service accounts",
	}
	n, refused := k.known.unwritten()
	switch blind := k.known.blind(); {
	case blind != "":
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonAPIError
		out.Message = "not all service accounts are kept, because this cannot be read: " + blind
	case n > 0:
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonAPIError
		out.Message = fmt.Sprintf("%d service accounts cannot be written, and are tried again: %s", n, refused)
	case k.known.operatorRuns():
		out.Reason = v1alpha1.ReasonSecondWriter
		out.Message = "an operator of Strimzi runs beside Holdfast, which yields to it: what it writes stays as it writes it"
	}
	return []metav1.Condition{out}
}
