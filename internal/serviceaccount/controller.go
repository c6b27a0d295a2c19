// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

const (
	// workers write at the same time. The API server's priority and fairness is the
	// limit.
	workers = 16
	// stale is when an account is looked at again that was another than it was known to
	// be, if its watch does not tell before.
	stale = time.Second
	// patient is how often that happens in a row before it is an error.
	patient = 10
	// writeTimeout bounds one write.
	writeTimeout = 30 * time.Second
	// backOff is how long a write that is refused waits, twice as long each time, and
	// longestBackOff how long at most: no watch tells when it is refused no more.
	backOff, longestBackOff = 100 * time.Millisecond, 30 * time.Second
)

// accountController brings accounts to what their objects want.
type accountController struct {
	known  *known
	fights *fights
	// returns are those who write accounts again that were taken over from them.
	returns *returns
	writer  *writer
	events  *teller
	config  func() (configv1alpha1.ServiceAccountsConfiguration, scope.Scope)
	// patching says whether accounts that are there are written: the feature gate.
	patching func() bool
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	// started is closed when the queue is there.
	started chan struct{}
}

func (c *accountController) setupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("serviceaccount.account").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](backOff, longestBackOff),
		}).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			c.queue = q
			close(c.started)
			return nil
		})).
		Complete(c)
}

// touched asks for a look at an account, once the controller has started.
func (c *accountController) touched(key types.NamespacedName) {
	c.queue.Add(reconcile.Request{NamespacedName: key})
}

// Reconcile does the one write that an account needs, if any. What comes after it
// follows from what the watch tells of it.
func (c *accountController) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	config, where := c.config()
	key := req.NamespacedName
	f, later, known := c.known.facts(key, where)
	if !known || config.Mode == configv1alpha1.ServiceAccountsOff {
		c.known.decided(key, nil)
		return reconcile.Result{}, nil
	}
	report := config.Mode == configv1alpha1.ServiceAccountsReport
	f.Existing, f.Identities, f.Patching = config.Existing, config.Identities, c.patching() || report
	v, again := c.decide(&f)
	again = sooner(again, later)
	c.known.decided(key, &v)
	c.events.tell(f, v, report)
	if left := c.fights.rests(key, uidOf(f.Live), v); left > 0 {
		return reconcile.Result{RequeueAfter: sooner(again, left)}, nil
	}
	if report || !v.Pending() {
		c.known.refused(key, nil)
		return reconcile.Result{RequeueAfter: again}, nil
	}
	soon, err := c.bring(ctx, f, v)
	return reconcile.Result{RequeueAfter: sooner(again, soon)}, err
}

// decide adds to the facts what is known of those who write the account too, and says
// when that may be another.
func (c *accountController) decide(f *plan.Facts) (v plan.Verdict, again time.Duration) {
	running, again := c.returns.running(f.NamespacedName)
	f.Operators.Insert(running...)
	v = plan.Decide(*f)
	if back := c.returns.again(f.NamespacedName, v.Action.From); len(back) > 0 {
		fightsTotal.Add(float64(len(back)))
		c.events.cameBack(*f, v, back)
		f.Operators.Insert(back...)
		v, again = plan.Decide(*f), sooner(again, giveUp)
	}
	var left time.Duration
	if f.GivenUp, left = c.fights.givenUp(f.NamespacedName, uidOf(f.Live), v.Report.Changes); f.GivenUp.Len() > 0 {
		v = plan.Decide(*f)
	}
	return v, sooner(again, left)
}

// bring does a write, and says when to look again although no watch may tell.
func (c *accountController) bring(ctx context.Context, f plan.Facts, v plan.Verdict) (again time.Duration, err error) {
	after, err := c.write(ctx, f, v)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return 0, nil // and the watch of namespaces tells the rest
	case outdated(err) && c.known.missed(f.NamespacedName) < patient:
		return stale, nil // it is another than it was known to be
	case err != nil:
		c.known.refused(f.NamespacedName, err)
		c.events.failed(f, v, err)
		return 0, err
	}
	if after == nil {
		return 0, nil
	}
	f.Live = after
	next := plan.Decide(f)
	if next.Pending() {
		return stale, nil // of what a webhook has changed back on the way no watch tells
	}
	c.known.settledAs(f.NamespacedName, after.ResourceVersion, &next)
	return 0, nil
}

// uidOf is which account it is; empty if there is none.
func uidOf(a *metav1.PartialObjectMetadata) types.UID {
	if a == nil {
		return ""
	}
	return a.UID
}

// outdated says whether an account is another than it was known to be.
func outdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (c *accountController) write(ctx context.Context, f plan.Facts, v plan.Verdict) (after *metav1.PartialObjectMetadata, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	after, err = c.writer.do(ctx, f.NamespacedName, v.Action)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Action.Do, err)
	}
	writesTotal.WithLabelValues(string(v.Action.Do)).Inc()
	c.known.wrote(f.NamespacedName, after)
	c.returns.took(f.NamespacedName, v.Action.From)
	if lost := c.fights.wrote(f.NamespacedName, uidOf(after), attempts(v)); len(lost) > 0 {
		fightsTotal.Add(float64(len(lost)))
		c.events.gaveUp(f, v, lost)
	}
	c.events.did(f, v)
	return after, nil
}
