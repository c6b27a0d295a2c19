// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/trigger"
)

const (
	statusFieldManager = "holdfast-eviction-status"
	// settle is how long the number of waiting pods may change before it is written.
	settle = time.Second
)

// controller writes the status of EvictionPolicies and releases pods that nobody
// wants to move any more.
type controller struct {
	client client.Client
	// live reads past the cache.
	live     client.Reader
	policies *policySet
	waiting  *waiting
	settings func() settings
	clock    clock.PassiveClock
	trigger  trigger.Trigger
}

// setupWithManager adds the controller to a manager; it runs on the leader.
func (c *controller) setupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("eviction.policy").
		For(&v1alpha1.EvictionPolicy{}).
		WatchesRawSource(c.trigger.Source()).
		Complete(c)
}

// changed asks for another look at a policy. It never blocks.
func (c *controller) changed(name string) { c.trigger.Ask(name, settle) }

// Reconcile writes the status once.
func (c *controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	in := &v1alpha1.EvictionPolicy{}
	err := c.client.Get(ctx, req.NamespacedName, in)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("get EvictionPolicy: %w", err)
	}
	gone := apierrors.IsNotFound(err)
	count, again, unreleased := c.release(ctx, req.Name, gone)
	if gone {
		return reconcile.Result{}, unreleased
	}
	next := in.Status.DeepCopy()
	next.ObservedGeneration, next.Waiting = in.Generation, int32(min(count, 1<<30)) //nolint:gosec // it is bounded
	p, problems := policy.Compile(in)
	meta.SetStatusCondition(&next.Conditions, c.condition(in.Generation, p, problems.ToAggregate()))
	if !equality.Semantic.DeepEqual(next, &in.Status) {
		in = in.DeepCopy()
		in.Status = *next
		if err := c.client.Status().Update(ctx, in, client.FieldOwner(statusFieldManager)); err != nil {
			if apierrors.IsConflict(err) {
				return reconcile.Result{RequeueAfter: settle}, nil // a replica has written its counts
			}
			return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
		}
	}
	if unreleased != nil {
		return reconcile.Result{}, unreleased
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// release lets go of the pods of a policy that is gone, and of those that nobody
// has asked for long enough. It returns how many the policy holds, and when to
// look again. A pod that cannot be released counts as held, and holds up neither
// the others nor the status.
func (c *controller) release(ctx context.Context, name string, gone bool) (count int, again time.Duration, err error) {
	p, _ := c.policies.get(name)
	now := c.clock.Now()
	var problems []error
	for key, h := range c.waiting.of(name) {
		switch {
		case gone || p != nil && (!now.Before(h.lapsed(p.Forget())) || policy.InFuture(h.asked, now)):
			if err := c.waiting.release(ctx, key, h); err != nil {
				problems = append(problems, err)
				count++
			}
		default:
			count++
			if p != nil {
				if left := h.lapsed(p.Forget()).Sub(now); again == 0 || left < again {
					again = left
				}
			}
		}
	}
	return count, again, errors.Join(problems...)
}

func (c *controller) condition(generation int64, p *policy.Policy, err error) metav1.Condition {
	out := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInForce,
		Message: "the policy is in force", ObservedGeneration: generation,
	}
	mode := c.settings().config.Mode
	switch {
	case err != nil:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, v1alpha1.ReasonInvalid, err.Error()
	case p.Mode != configv1alpha1.ModeEnforce:
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotEnforced
		out.Message = fmt.Sprintf("the policy is in mode %s, which refuses nothing", p.Mode)
	case mode != configv1alpha1.ModeEnforce:
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotEnforced
		out.Message = fmt.Sprintf("the eviction guard is in mode %s, which refuses nothing", mode)
	}
	return out
}

// counts is what happened under one policy.
type counts struct {
	matched, denied int64
	lastError       *v1alpha1.EvictionError
}

func (c *counts) add(more counts) {
	c.matched += more.matched
	c.denied += more.denied
	if more.lastError != nil {
		c.lastError = more.lastError
	}
}

// errorLimit is that of the field in the status.
const errorLimit = 1024

// countsOf is what one verdict adds.
func countsOf(v policy.Verdict, now time.Time) counts {
	out := counts{matched: 1}
	if !v.Allowed && v.Enforced() {
		out.denied = 1
	}
	if v.Err != nil {
		text := v.Err.Error()
		if len(text) > errorLimit {
			text = text[:errorLimit-3] + "..."
		}
		out.lastError = &v1alpha1.EvictionError{Time: metav1.NewTime(now), Message: text}
	}
	return out
}

// write adds counts to the status of a policy.
func (c *controller) write(ctx context.Context, name string, more counts) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		in := &v1alpha1.EvictionPolicy{}
		if err := c.live.Get(ctx, client.ObjectKey{Name: name}, in); err != nil {
			return err
		}
		in.Status.Matched += more.matched
		in.Status.Denied += more.denied
		if more.lastError != nil {
			in.Status.LastError = more.lastError
		}
		return c.client.Status().Update(ctx, in, client.FieldOwner(statusFieldManager))
	})
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write counts: %w", err))
	}
	return nil
}
