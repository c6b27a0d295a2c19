// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// guardAccount is the ServiceAccount that Holdfast's manager acts as.
const guardAccount = "holdfast-guard"

// right is a verb on a resource.
type right struct{ verb, group, resource, subresource, namespace string }

// on is what the verb is about.
func (r right) on() string {
	resource := r.resource
	if r.subresource != "" {
		resource += "/" + r.subresource
	}
	if r.group != "" {
		resource += "." + r.group
	}
	if r.namespace != "" {
		resource += " in " + r.namespace
	}
	return resource
}

// rightsText names rights in a sentence, those on one resource together.
func rightsText(rights []right) string {
	var order []string
	verbs := map[string][]string{}
	for _, r := range rights {
		if verbs[r.on()] == nil {
			order = append(order, r.on())
		}
		verbs[r.on()] = append(verbs[r.on()], r.verb)
	}
	for i, on := range order {
		order[i] = strings.Join(verbs[on], "/") + " " + on
	}
	return strings.Join(order, ", nor ")
}

func (r right) attributes() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: r.group, Version: "*", Resource: r.resource, Subresource: r.subresource, Namespace: r.namespace,
	}
}

const (
	admissionGroup = "admissionregistration.k8s.io"
	rbacGroup      = "rbac.authorization.k8s.io"
)

// ownRights are what a hand-over changes: the rest it would find out by reading.
func (h *handover) ownRights(f found) []right {
	webhooks := "delete"
	if h.Back {
		webhooks = "create"
	}
	out := []right{
		{webhooks, admissionGroup, "validatingwebhookconfigurations", "", ""},
		{webhooks, admissionGroup, "mutatingwebhookconfigurations", "", ""},
		{"create", "", "configmaps", "", h.Namespace},
		{"update", "", "configmaps", "", h.Namespace},
		{v1alpha1.UnprotectVerb, v1alpha1.GroupName, v1alpha1.UnprotectResource, "", ""},
	}
	for ns := range sets.KeySet(namespacesOf(f)) {
		out = append(out, right{"patch", "apps", "deployments", "scale", ns}, right{"list", "", "pods", "", ns})
	}
	return out
}

func namespacesOf(f found) map[string]bool {
	out := map[string]bool{}
	for _, d := range f.facts.Deployments {
		out[d.Namespace] = true
	}
	return out
}

// checkOwnRights asks whether the user may do it.
func (h *handover) checkOwnRights(ctx context.Context) []error {
	f, err := find(ctx, h.kube)
	if err != nil {
		return []error{err}
	}
	var missing []right
	for _, r := range h.ownRights(f) {
		review, err := h.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: r.attributes()},
		}, metav1.CreateOptions{})
		if err != nil {
			return []error{fmt.Errorf("ask what you may do: %w", err)}
		}
		if !review.Status.Allowed {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return []error{fmt.Errorf("you may not %s: let a cluster administrator run this", rightsText(missing))}
	}
	return nil
}

// checkRights asks whether Holdfast may do what trees need.
func (h *handover) checkRights(ctx context.Context) []error {
	resources, err := h.copied(ctx)
	if err != nil {
		return []error{err}
	}
	var missing []right
	for _, r := range guardRights(resources) {
		review, err := h.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + h.Namespace + ":" + guardAccount,
				Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + h.Namespace, "system:authenticated"},
				ResourceAttributes: r.attributes(),
			},
		}, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			h.note("you may not ask what Holdfast may do, so that is not checked")
			return nil
		}
		if err != nil {
			return []error{fmt.Errorf("ask what Holdfast may do: %w", err)}
		}
		if !review.Status.Allowed {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return []error{fmt.Errorf("the ServiceAccount %s, which Holdfast acts as, may not %s: %s. For a kind that the HNCConfiguration lists, add a rule there first",
			guardAccount, rightsText(missing), rightsRemedy)}
	}
	return nil
}

// guardRights are those of config/rbac/hierarchy.yaml that say whether it was
// applied, and those on all kinds that are copied.
func guardRights(resources []schema.GroupVersionResource) []right {
	out := []right{
		{"update", hncv1alpha2.GroupName, hncv1alpha2.ResourceHierarchyConfigurations, "", ""},
		{"update", hncv1alpha2.GroupName, hncv1alpha2.ResourceSubnamespaceAnchors, "", ""},
		{"update", hncv1alpha2.GroupName, hncv1alpha2.ResourceHNCConfigurations, "", ""},
		{"create", "", "namespaces", "", ""},
		{"patch", "", "namespaces", "", ""},
		{"delete", "", "namespaces", "", ""},
		{"escalate", rbacGroup, "roles", "", ""},
		{"bind", rbacGroup, "clusterroles", "", ""},
	}
	for _, r := range resources {
		for _, verb := range []string{"list", "watch", "create", "update", "delete"} {
			out = append(out, right{verb, r.Group, r.Resource, "", ""})
		}
	}
	return out
}
