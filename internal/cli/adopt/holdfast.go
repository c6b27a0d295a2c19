// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// featureName is that of trees in the status of Holdfast.
const featureName = "hierarchy"

// Names that Holdfast installs for trees. That all others are there too is what its
// condition AdmissionInstalled says.
const (
	policyPrefix     = "holdfast-hierarchy-"
	NamespacesPolicy = policyPrefix + "namespaces"
	HierarchyWebhook = "hierarchyconfigurations" + webhookSuffix
	webhookSuffix    = ".hnc.x-k8s.io"
)

// status is what Holdfast says of itself; nil if it says nothing yet.
func (h *handover) status(ctx context.Context) (*v1alpha1.HoldfastStatus, error) {
	out, err := connect.Holdfast(ctx, h.dynamic)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // there is none, and that is no error
	case err != nil:
		return nil, fmt.Errorf("read what Holdfast says of itself: %w", err)
	}
	return &out.Status, nil
}

// taken says what is missing until a configuration is in force; "" if nothing is. In
// a configuration that differs in its fields beside mode and standBy something else
// goes before it.
func taken(s *v1alpha1.HoldfastStatus, want string) (missing string, exactly bool, err error) {
	text, err := printed(want)
	if err != nil {
		return "", false, err
	}
	if s == nil {
		return "Holdfast has not started yet", false, nil
	}
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionConfigurationAccepted); c != nil && c.Reason == v1alpha1.ReasonRefused {
		return "Holdfast does not take the configuration: " + c.Message, false, nil
	}
	wanted, have := partOf(text), partOf(s.Configuration)
	switch {
	case sameJSON(wanted, have):
		return "", true, nil
	case have[modeField] == wanted[modeField] && have[standByField] == wanted[standByField]:
		return "", false, nil
	}
	return "Holdfast has not taken the configuration yet", false, nil
}

// lacks says what is missing until a condition is true; with a reason, for that one.
func lacks(s *v1alpha1.HoldfastStatus, kind, reason string) string {
	c := meta.FindStatusCondition(s.Conditions, kind)
	switch {
	case c == nil:
		return "Holdfast does not say " + kind + " yet"
	case c.Status != metav1.ConditionTrue || reason != "" && c.Reason != reason:
		return kind + ": " + c.Message
	}
	return ""
}

// firstOf the things that are missing.
func firstOf(missing ...string) string {
	for _, m := range missing {
		if m != "" {
			return m
		}
	}
	return ""
}

// rules are what Holdfast has in the API server for trees.
type rules struct {
	// policies that are bound, and webhooks.
	policies, webhooks []string
	// refuse says whether the policies refuse, or only warn or tell.
	refuse bool
}

func (r rules) String() string {
	return fmt.Sprintf("%d policies and %d webhooks", len(r.policies), len(r.webhooks))
}

func (h *handover) rules(ctx context.Context) (rules, error) {
	var out rules
	bindings, err := h.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return rules{}, fmt.Errorf("look at the policies: %w", err)
	}
	for i := range bindings.Items {
		if b := &bindings.Items[i]; strings.HasPrefix(b.Name, policyPrefix) {
			out.policies = append(out.policies, b.Name)
			out.refuse = out.refuse || slices.Contains(b.Spec.ValidationActions, admissionregistrationv1.Deny)
		}
	}
	v, err := h.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, admission.WebhookConfigurationName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return rules{}, fmt.Errorf("look at the webhooks: %w", err)
	}
	m, err := h.kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, admission.WebhookConfigurationName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return rules{}, fmt.Errorf("look at the webhooks: %w", err)
	}
	for i := range v.Webhooks {
		out.addWebhook(v.Webhooks[i].Name)
	}
	for i := range m.Webhooks {
		out.addWebhook(m.Webhooks[i].Name)
	}
	return out, nil
}

func (r *rules) addWebhook(name string) {
	if strings.HasSuffix(name, webhookSuffix) {
		r.webhooks = append(r.webhooks, name)
	}
}

// inForce says what is missing until the rules for trees are in force.
func (h *handover) inForce(ctx context.Context, r rules) (missing string, err error) {
	switch {
	case !slices.Contains(r.policies, NamespacesPolicy):
		return "Holdfast's policies for trees are not installed yet", nil
	case !slices.Contains(r.webhooks, HierarchyWebhook):
		return "Holdfast's webhooks for trees are not installed yet", nil
	case !r.refuse:
		return "", nil
	}
	refused, err := h.refusesExclusion(ctx)
	if err != nil || refused {
		return "", err
	}
	return "the API server does not go by Holdfast's policies yet", nil
}

// refusesExclusion tries what is never allowed, without doing it: to exclude a
// namespace that no list has. A policy is there before the API server goes by it.
func (h *handover) refusesExclusion(ctx context.Context) (bool, error) {
	list, err := h.kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{
		Limit: 1, LabelSelector: hncv1alpha2.LabelIncludedNamespace, FieldSelector: "metadata.name!=" + h.Namespace,
	})
	if err != nil || len(list.Items) == 0 {
		return true, err // without any there is nothing to protect
	}
	body := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, hncv1alpha2.LabelExcludedNamespace)
	_, err = h.kube.CoreV1().Namespaces().Patch(ctx, list.Items[0].Name, types.MergePatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	switch {
	case err == nil:
		return false, nil
	case strings.Contains(err.Error(), NamespacesPolicy):
		return true, nil
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err): // who may not, or cannot, try
		return true, nil
	}
	return false, err
}

// off says whether a mode keeps no trees.
func off(mode configv1alpha1.Mode) bool { return mode == "" || mode == configv1alpha1.ModeOff }
