// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// mayBypass gives a user the right to delete what these protections protect, and
// waits until the API server knows of it.
func mayBypass(t testing.TB, e *testkit.Env, user string, protections ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{GenerateName: "bypass-", Labels: map[string]string{"holdfast.dev/testkit": "made"}}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupName}, Resources: []string{v1alpha1.UnprotectResource}, ResourceNames: protections, Verbs: []string{v1alpha1.BypassVerb},
	}}}
	if err := e.Client.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range protections {
		gomega.NewWithT(t).Eventually(func() (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: v1alpha1.GroupName, Resource: v1alpha1.UnprotectResource, Name: name, Verb: v1alpha1.BypassVerb,
			}}}
			err := e.Client.Create(t.Context(), review)
			return review.Status.Allowed, err
		}, "180s", "20ms").Should(gomega.BeTrue())
	}
}

func TestProtection_bypassIsARightOnOneProtection(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	mine, second := ns+"-mine", ns+"-second"
	one := configMap(t, e, ns, "one")
	two := configMap(t, e, ns, "two")
	spec := func(names string) string {
		return `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: ` + ns + `}], resourceNames: ` + names + `}]}`
	}
	end := protect(t, e, mine, spec(`[one, two]`))
	defer end()
	endSecond := protect(t, e, second, spec(`[two]`))
	defer endSecond()
	g.Eventually(protectedBy(t, e, "configmap", "one", "-n", ns), "180s", "50ms").Should(gomega.Equal(mine))
	g.Eventually(protectedBy(t, e, "configmap", "two", "-n", ns), "180s", "50ms").Should(gomega.Equal("2_protections"))

	account := func(name string) string { return "system:serviceaccount:" + ns + ":" + name }
	named, other, both, root := account("pipeline"), account("other"), account("both"), account("root")
	for _, user := range []string{named, other, both} {
		e.Grant(t, ns, user, testkit.Rule("", []string{"configmaps"}, "delete"))
	}
	e.Grant(t, "", root, testkit.Rule("*", []string{"*"}, "*"))
	mayBypass(t, e, named, mine)
	mayBypass(t, e, other, second)
	mayBypass(t, e, both, mine, second)
	mayBypass(t, e, root, mine)

	tests := []struct {
		name   string
		client client.Client
		object client.Object
		want   bool
	}{
		{name: "bypass on the protection", client: e.As(t, named), object: one, want: true},
		{name: "bypass on another protection", client: e.As(t, other), object: one},
		{name: "every verb on everything", client: e.Client, object: one},
		{name: "every verb on everything, and bypass on the protection", client: e.As(t, root), object: one},
		{name: "bypass on one of two protections", client: e.As(t, named), object: two},
		{name: "bypass on the other one of two protections", client: e.As(t, other), object: two},
		{name: "bypass on each of two protections, which are one mark", client: e.As(t, both), object: two},
	}
	for _, tt := range tests {
		err := tt.client.Delete(t.Context(), tt.object, client.DryRunAll)
		if tt.want && err != nil || !tt.want && !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want it allowed: %t", tt.name, err, tt.want)
		}
	}
	if err := e.As(t, named).Delete(t.Context(), one); err != nil {
		t.Errorf("bypass: %v", err)
	}
	mustGo(t, e, one)
	mustStand(t, e, two)
}

// A right to pass by a protection is none to pass by a label.
func TestProtection_bypassDoesNotUnprotect(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	user := "system:serviceaccount:" + ns + ":pipeline"
	cm := configMap(t, e, ns, "x", strict+"=Always")
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`, name: x}]}]}`)
	defer end()
	gomega.NewWithT(t).Eventually(protectedBy(t, e, "configmap", "x", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	e.Grant(t, ns, user, testkit.Rule("", []string{"configmaps"}, "*"))
	mayBypass(t, e, user, ns)
	if err := e.As(t, user).Delete(t.Context(), cm.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("delete past the label: got %v, want a 403", err)
	}
	if err := e.As(t, user).Patch(t.Context(), cm.DeepCopy(), mergeLabels(map[string]any{strict: nil})); !apierrors.IsForbidden(err) {
		t.Errorf("take the label away: got %v, want a 403", err)
	}
	unmarked := cm.DeepCopy()
	if err := e.As(t, user).Patch(t.Context(), unmarked, mergeLabels(map[string]any{v1alpha1.ProtectedByMark: nil})); err != nil || v1alpha1.MarkOf(unmarked, v1alpha1.ProtectedByMark) != ns {
		t.Errorf("remove the mark: got %v and the labels %v, want the mark to stay", err, unmarked.Labels)
	}
}
