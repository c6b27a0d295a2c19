// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// checks finds what makes the guard less than its configuration promises: a
// namespace that does not exist, one in which it has no rights, a second guard.
type checks struct {
	client   kubernetes.Interface
	settings func() settings
	// withoutRights are the namespaces in which the API server refused to give or
	// change pods.
	withoutRights func() []string
	pauses        timing.Pauses
	wake          chan struct{}

	mu     sync.Mutex
	result []metav1.Condition
}

func newChecks(c kubernetes.Interface, s func() settings, withoutRights func() []string, p timing.Pauses) *checks {
	return &checks{client: c, settings: s, withoutRights: withoutRights, pauses: p, wake: make(chan struct{}, 1)}
}

// Wake asks for another look. It never blocks.
func (c *checks) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Start looks until the context ends. It runs on the leader, which writes what was
// found.
func (c *checks) Start(ctx context.Context) error {
	ticker := time.NewTicker(c.pauses.EvictionChecks)
	defer ticker.Stop()
	for {
		c.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-ticker.C:
		}
	}
}

func (c *checks) look(ctx context.Context) {
	s := c.settings()
	var found []metav1.Condition
	if s.config.Mode != configv1alpha1.ModeOff {
		found = []metav1.Condition{c.scope(ctx, s), c.alone(ctx, s)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = found
}

// conditions are what was found last; where nothing has been looked at, none.
func (c *checks) conditions() []metav1.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.result)
	for i := range out {
		if out[i].Type == v1alpha1.ConditionEvictionScopeServed && out[i].Status == metav1.ConditionTrue {
			if refused := c.withoutRights(); len(refused) > 0 {
				out[i].Status, out[i].Reason, out[i].Message = metav1.ConditionFalse, v1alpha1.ReasonNotPermitted, notPermitted(refused)
			}
		}
	}
	return out
}

func notPermitted(namespaces []string) string {
	slices.Sort(namespaces)
	return "Holdfast may not get and patch pods in " + strings.Join(namespaces, ", ") +
		": give it a Role there, or take these out of eviction.scope; until then evictions there are not guarded"
}

// scope looks at the namespaces that the scope lists.
func (c *checks) scope(ctx context.Context, s settings) metav1.Condition {
	out := metav1.Condition{
		Type: v1alpha1.ConditionEvictionScopeServed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServed,
		Message: "evictions in scope are guarded",
	}
	names, _ := s.scope.Names()
	var missing, refused []string
	for _, ns := range names {
		allowed, err := c.mayUsePods(ctx, ns)
		if err == nil && !allowed {
			refused = append(refused, ns)
			continue
		}
		_, err = c.client.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			missing = append(missing, ns)
		} else if err != nil {
			ctrl.Log.WithName("eviction").Info("A namespace of the watch list cannot be looked at", "namespace", ns, "error", err.Error())
		}
	}
	var parts []string
	if len(missing) > 0 {
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonNamespaceMissing
		parts = append(parts, "the scope lists namespaces that do not exist: "+strings.Join(missing, ", ")+"; is one misspelt?")
	}
	if len(refused) > 0 {
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotPermitted
		parts = append(parts, notPermitted(refused))
	}
	if len(parts) > 0 {
		out.Message = strings.Join(parts, "; ")
	}
	return out
}

// mayUsePods asks whether Holdfast has the rights that it needs in a namespace.
func (c *checks) mayUsePods(ctx context.Context, namespace string) (bool, error) {
	for _, verb := range []string{"get", "patch"} {
		review, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Resource: "pods",
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("ask for rights: %w", err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}

// alone looks for a second guard of the same kind: both would write to pods. A
// Strimzi Drain Cleaner is one where its rules are on here.
func (c *checks) alone(ctx context.Context, s settings) metav1.Condition {
	out := metav1.Condition{
		Type: v1alpha1.ConditionEvictionGuardAlone, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAlone,
		Message: "no other guard of this kind answers for evictions",
	}
	list, err := c.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		ctrl.Log.WithName("eviction").Info("Webhook configurations cannot be listed", "error", err.Error())
		return out
	}
	if others := secondGuards(list.Items, s.policy.DrainCleaner.Enabled); len(others) > 0 {
		out.Status, out.Reason = metav1.ConditionFalse, v1alpha1.ReasonSecondGuard
		out.Message = "there should be one in a cluster, and evictions are also sent to " + strings.Join(others, ", ") +
			": delete it with kubectl delete validatingwebhookconfiguration, and the workload behind it"
	}
	return out
}

// secondGuards are the webhook configurations of other Holdfasts and, if that is
// asked, of a Strimzi Drain Cleaner. Others that look at evictions are none of ours
// to judge.
func secondGuards(all []admissionregistrationv1.ValidatingWebhookConfiguration, drainCleaner bool) []string {
	var out []string
	for i := range all {
		if all[i].Name == admission.WebhookConfigurationName {
			continue
		}
		for j := range all[i].Webhooks {
			if w := &all[i].Webhooks[j]; w.Name == policy.Webhook || drainCleaner && w.Name == policy.DrainCleanerWebhook {
				out = append(out, all[i].Name)
				break
			}
		}
	}
	return out
}
