// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// webhooksName is the ValidatingWebhookConfiguration of Holdfast.
const webhooksName = "holdfast-guard"

// asked says whether the API server asks Holdfast about evictions.
type asked string

const (
	askedYes     asked = "Yes"
	askedNo      asked = "No"
	askedUnknown asked = "Unknown"
)

// guardState is whether Holdfast has a say in evictions.
type guardState struct {
	// Mode of the configuration.
	Mode configv1alpha1.Mode `json:"mode"`
	// Asked says whether the API server asks Holdfast; where that is not known it is
	// assumed to.
	Asked asked `json:"asked"`
	// Ready is what Holdfast last said of itself: True, False or Unknown.
	Ready metav1.ConditionStatus `json:"ready"`
	// Problems say why it has no say, or may have none.
	Problems []string `json:"problems,omitempty"`
}

// hasSay says whether Holdfast's verdicts reach whoever evicts.
func (g guardState) hasSay() bool { return g.Asked != askedNo }

// newGuardState judges by Holdfast's object and webhooks, each nil where it is not
// there. The errors say that they could not be read.
func newGuardState(r evictionRules, h *v1alpha1.Holdfast, hooks *admissionregistrationv1.ValidatingWebhookConfiguration, hookErr error) guardState {
	g := guardState{Mode: r.settings.Mode, Asked: askedYes, Ready: metav1.ConditionUnknown}
	switch idle := r.idle(); {
	case hookErr != nil:
		g.Asked = askedUnknown
		g.Problems = append(g.Problems, hookErr.Error()+"; Holdfast is assumed to be asked about evictions")
	case !asksAboutEvictions(hooks):
		g.Asked = askedNo
		if idle == "" {
			idle = fmt.Sprintf("there is no webhook for evictions in the ValidatingWebhookConfiguration %s", webhooksName)
		}
		g.Problems = append(g.Problems, "Holdfast is not asked about evictions: "+idle)
	case g.Mode != configv1alpha1.ModeEnforce:
		g.Problems = append(g.Problems, fmt.Sprintf("the eviction mode of Holdfast is %s: nothing is refused or written", g.Mode))
	}
	if h == nil {
		return g
	}
	if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		g.Ready = c.Status
		if c.Status != metav1.ConditionTrue {
			g.Problems = append(g.Problems, fmt.Sprintf("Holdfast is not ready: %s: %s", c.Reason, c.Message))
		}
	}
	for _, name := range []string{v1alpha1.ConditionEvictionGuardAlone, v1alpha1.ConditionEvictionScopeServed} {
		if c := meta.FindStatusCondition(h.Status.Conditions, name); c != nil && c.Status == metav1.ConditionFalse {
			g.Problems = append(g.Problems, c.Message)
		}
	}
	return g
}

func asksAboutEvictions(hooks *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	return hooks != nil && slices.ContainsFunc(hooks.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.Name == policy.DrainCleanerWebhook || w.Name == policy.Webhook
	})
}

// evictionWorld is what is the same for all pods.
type evictionWorld struct {
	evictionRules
	guard guardState
	user  authenticationv1.UserInfo
	// unknown says what could not be read.
	unknown []string
}

// evictionWorld reads what Holdfast decides by. What cannot be read is assumed to
// be as it is by default.
func (c *clients) evictionWorld(ctx context.Context) (evictionWorld, error) {
	var (
		w                   evictionWorld
		holdfast            *v1alpha1.Holdfast
		policies            []v1alpha1.EvictionPolicy
		hooks               *admissionregistrationv1.ValidatingWebhookConfiguration
		userErr             error
		ownErr, listErr, hk error
		all                 sync.WaitGroup
	)
	all.Go(func() { w.user, userErr = c.whoAmI(ctx) })
	all.Go(func() { holdfast, ownErr = c.holdfast(ctx) })
	all.Go(func() { policies, listErr = c.evictionPolicies(ctx) })
	all.Go(func() { hooks, hk = c.webhooks(ctx) })
	all.Wait()
	if userErr != nil {
		return w, userErr
	}
	for _, err := range []error{ownErr, listErr} {
		if err != nil {
			w.unknown = append(w.unknown, err.Error())
		}
	}
	configuration := ""
	if holdfast != nil {
		if configuration = holdfast.Status.Configuration; configuration == "" {
			w.unknown = append(w.unknown, "Holdfast does not say which configuration is in force: every default is assumed")
		}
	}
	var err error
	if w.evictionRules, err = newEvictionRules(configuration, policies); err != nil {
		return w, err
	}
	w.guard = newGuardState(w.evictionRules, holdfast, hooks, hk)
	w.guard.Problems = append(w.guard.Problems, w.broken...)
	return w, nil
}

// holdfast reads what Holdfast says of itself; nil where it is not installed.
func (c *clients) holdfast(ctx context.Context) (*v1alpha1.Holdfast, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	h, err := connect.Holdfast(ctx, client)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not get holdfasts.%s, which says what the configuration is: every default is assumed", v1alpha1.GroupName)
	case err != nil:
		return nil, reachable(err)
	}
	return h, nil
}

// evictionPolicies are none where the kind is not served.
func (c *clients) evictionPolicies(ctx context.Context) ([]v1alpha1.EvictionPolicy, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(evictionPoliciesKind.GroupVersionResource).List(ctx, metav1.ListOptions{})
	switch {
	case isNotServed(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not list %s, and what they decide is not known; ask for the RBAC verb list on them, cluster-wide", evictionPoliciesKind.GroupResource())
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", evictionPoliciesKind.GroupResource(), reachable(err))
	}
	return convert[v1alpha1.EvictionPolicy](list.Items)
}

// webhooks of Holdfast; nil where there are none.
func (c *clients) webhooks(ctx context.Context) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	client, err := admissionclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := client.ValidatingWebhookConfigurations().Get(ctx, webhooksName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not get validatingwebhookconfigurations")
	}
	return found, err
}
