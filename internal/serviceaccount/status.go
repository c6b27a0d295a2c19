// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/trigger"
)

const (
	statusFieldManager = "holdfast-serviceaccounts-status"
	// calm is how long the counts may change before they are written.
	calm = time.Second
)

// statusController writes the status of ServiceAccountTemplates.
type statusController struct {
	client    client.Client
	templates *templates
	known     *known
	kinds     func() *inventory.Snapshot
	config    func() (configv1alpha1.ServiceAccountsConfiguration, scope.Scope)
	patching  func() bool
	trigger   trigger.Trigger
}

func (c *statusController) setupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("serviceaccount.template").
		For(&v1alpha1.ServiceAccountTemplate{}).
		WatchesRawSource(c.trigger.Source()).
		Complete(c)
}

// changed asks for another look at a template. It never blocks.
func (c *statusController) changed(name string) { c.trigger.Ask(name, calm) }

// Reconcile writes the status once.
func (c *statusController) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	in := &v1alpha1.ServiceAccountTemplate{}
	if err := c.client.Get(ctx, req.NamespacedName, in); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	next := in.Status.DeepCopy()
	if !c.fill(next, in) || equality.Semantic.DeepEqual(next, &in.Status) {
		return reconcile.Result{}, nil
	}
	in = in.DeepCopy()
	in.Status = *next
	err := c.client.Status().Update(ctx, in, client.FieldOwner(statusFieldManager))
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: calm}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// fill says how a template stands; false while that is not known.
func (c *statusController) fill(out *v1alpha1.ServiceAccountTemplateStatus, in *v1alpha1.ServiceAccountTemplate) bool {
	out.ObservedGeneration = in.Generation
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&out.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: in.Generation,
		})
	}
	ready := func(status metav1.ConditionStatus, reason, message string) {
		set(v1alpha1.ConditionReady, status, reason, message)
	}
	t, known := c.templates.get(in.Name)
	config, where := c.config()
	mode := config.Mode
	switch {
	case !known:
		return false
	case t.mapping == nil:
		ready(metav1.ConditionFalse, v1alpha1.ReasonInvalid, t.problems.ToAggregate().Error())
		return true
	case mode == configv1alpha1.ServiceAccountsOff:
		ready(metav1.ConditionFalse, v1alpha1.ReasonNotEnforced, "the mode of service accounts is Off")
		return true
	}
	kinds := c.kinds()
	if kinds == nil {
		return false
	}
	source, missing := sourceOf(t.mapping, kinds)
	n := c.known.counts(in.Name, where)
	switch {
	case missing != "":
		message := fmt.Sprintf("the cluster has no kind %s of group %s yet", in.Spec.Source.Kind, in.Spec.Source.Group)
		if kinds.Silent(in.Spec.Source.Group) {
			message = fmt.Sprintf("the API server does not tell of all of the group %s now, so it is not known whether it has the kind %s", in.Spec.Source.Group, in.Spec.Source.Kind)
		}
		if missing == v1alpha1.ReasonKindClusterScoped {
			message = "objects of the kind have no namespace for an account to be in: name a kind with a namespace"
		}
		set(v1alpha1.ConditionSourceServed, metav1.ConditionFalse, missing, message)
		ready(metav1.ConditionFalse, missing, message)
		out.Version, out.Objects, out.Accounts, out.Pending, out.Conflicts, out.Errors = "", 0, 0, 0, 0, 0
		return true
	case n.problem != "":
		message := fmt.Sprintf("the objects cannot be read, give the guard the verbs get, list and watch on %s: %s", source.Resource.GroupResource(), n.problem)
		set(v1alpha1.ConditionSourceServed, metav1.ConditionFalse, v1alpha1.ReasonAPIError, message)
		ready(metav1.ConditionFalse, v1alpha1.ReasonAPIError, message)
		return true
	case !n.known:
		return false
	}
	set(v1alpha1.ConditionSourceServed, metav1.ConditionTrue, v1alpha1.ReasonServed, "the API server serves the kind")
	out.Version, out.Objects, out.Accounts = source.Resource.Version, n.objects, n.accounts
	out.Pending, out.Conflicts, out.Errors = n.pending, n.conflicts, n.errors
	ready(stands(n, mode, c.patching()))
	return true
}

// stands says how the accounts of a template are that could be read.
func stands(n counts, mode configv1alpha1.ServiceAccountsMode, patching bool) (status metav1.ConditionStatus, reason, message string) {
	switch {
	case n.errors > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonErrors, "some accounts cannot be told from their objects, or cannot be written, as events of these say"
	case n.conflicts > 0:
		return metav1.ConditionFalse, v1alpha1.ReasonConflicts, "some accounts are not as their objects want, as events of these say"
	case mode == configv1alpha1.ServiceAccountsReport:
		return metav1.ConditionFalse, v1alpha1.ReasonNotEnforced, "the mode of service accounts is Report, which writes nothing"
	case !patching:
		return metav1.ConditionFalse, v1alpha1.ReasonNotEnforced, "accounts that are there are left as they are: the feature gate ServiceAccountPatching is off"
	default:
		return metav1.ConditionTrue, v1alpha1.ReasonInForce, "the accounts are as their objects want"
	}
}
