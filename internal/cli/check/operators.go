// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// operated is a kind whose objects control protected pods of a namespace.
type operated struct {
	controller schema.GroupKind
	namespace  string
}

// grant is what one RoleBinding or ClusterRoleBinding gives; namespace is empty for a ClusterRoleBinding.
type grant struct {
	namespace string
	rules     []rbacv1.PolicyRule
}

// pods counts the protected pods by the kind of their controller and by namespace. An operator rolls its pods by deleting
// them, and deletes other objects rarely.
func (r *reader) pods(ctx context.Context, f *facts) {
	f.operated = map[operated]int{}
	seen := sets.New[types.UID]()
	for _, label := range []string{
		v1alpha1.DeletionProtectedLabel, v1alpha1.KarmadaDeletionProtectedLabel, v1alpha1.KruiseDeletionProtectionLabel, v1alpha1.MarkedLabel,
	} {
		selected := metav1.ListOptions{LabelSelector: label}
		r.gap("protected pods that operators run", connect.Each(ctx, r.dynamic, corev1.SchemeGroupVersion.WithResource("pods"), selected, func(pod *unstructured.Unstructured) error {
			owner := metav1.GetControllerOfNoCopy(pod)
			if owner == nil || seen.Has(pod.GetUID()) || label == v1alpha1.MarkedLabel && v1alpha1.MarkOf(pod, v1alpha1.ProtectedByMark) == "" {
				return nil
			}
			seen.Insert(pod.GetUID())
			if gv, err := schema.ParseGroupVersion(owner.APIVersion); err == nil { // the API server validates it
				f.operated[operated{gv.WithKind(owner.Kind).GroupKind(), pod.GetNamespace()}]++
			}
			return nil
		}))
	}
}

// access reads the rules that bindings grant to service accounts, by user name.
func (r *reader) access(ctx context.Context, f *facts) {
	rbac := rbacv1.SchemeGroupVersion
	clusterRoles, err1 := connect.List[rbacv1.ClusterRole](ctx, r.dynamic, rbac.WithResource("clusterroles"))
	roles, err2 := connect.List[rbacv1.Role](ctx, r.dynamic, rbac.WithResource("roles"))
	clusterBindings, err3 := connect.List[rbacv1.ClusterRoleBinding](ctx, r.dynamic, rbac.WithResource("clusterrolebindings"))
	bindings, err4 := connect.List[rbacv1.RoleBinding](ctx, r.dynamic, rbac.WithResource("rolebindings"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		r.gap("which operators Holdfast recognizes", err)
		return
	}
	rules := map[types.NamespacedName][]rbacv1.PolicyRule{} // of a ClusterRole without a namespace
	for i := range clusterRoles {
		rules[types.NamespacedName{Name: clusterRoles[i].Name}] = clusterRoles[i].Rules
	}
	for i := range roles {
		rules[types.NamespacedName{Namespace: roles[i].Namespace, Name: roles[i].Name}] = roles[i].Rules
	}
	f.grants = map[string][]grant{}
	bind := func(namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
		of := types.NamespacedName{Name: role.Name}
		if role.Kind == "Role" {
			of.Namespace = namespace
		}
		for _, s := range subjects {
			if user := accountOf(s); user != "" {
				f.grants[user] = append(f.grants[user], grant{namespace, rules[of]})
			}
		}
	}
	for i := range clusterBindings {
		bind("", clusterBindings[i].RoleRef, clusterBindings[i].Subjects)
	}
	for i := range bindings {
		bind(bindings[i].Namespace, bindings[i].RoleRef, bindings[i].Subjects)
	}
}

// accountOf returns the user name of a service account; empty for other subjects, and for names that the API server does
// not give: a tenant writes subjects, which are printed.
func accountOf(s rbacv1.Subject) string {
	user := s.Name
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		user = serviceaccount.MakeUsername(s.Namespace, s.Name)
	case rbacv1.GroupKind:
		return ""
	}
	if _, _, err := serviceaccount.SplitUsername(user); err != nil {
		return ""
	}
	return user
}

// may reports whether RBAC lets a service account update a resource in a namespace.
func (f *facts) may(user, namespace string, r schema.GroupResource) bool {
	asked := []rbacv1.PolicyRule{{Verbs: []string{"update"}, APIGroups: []string{r.Group}, Resources: []string{r.Resource}}}
	var rules []rbacv1.PolicyRule
	for _, g := range f.grants[user] {
		if g.namespace == "" || g.namespace == namespace {
			rules = append(rules, g.rules...)
		}
	}
	covered, _ := validation.Covers(rules, asked)
	return covered
}

// unrecognized finds operators that the policies do not recognize, so that they cannot roll their protected pods; see
// policy.OperatorChecks for the rule. It reports a kind and namespace only if no service account that may update its
// status is recognized: one that may update everything need not be an operator. It does not see an operator whose rights
// come from a group.
func unrecognized(f *facts, listed []string) []Finding {
	var out []Finding
	for _, o := range slices.SortedFunc(maps.Keys(f.operated), func(a, b operated) int {
		return cmp.Or(cmp.Compare(a.controller.String(), b.controller.String()), cmp.Compare(a.namespace, b.namespace))
	}) {
		plural, custom := f.plurals[o.controller]
		if !custom {
			continue // a kind of Kubernetes: its controllers are policy.ClusterControllers
		}
		regular := policy.Plural(o.controller.Kind)
		var those, wide []string // wide are service accounts that may update every resource
		recognized := false
		for _, user := range slices.Sorted(maps.Keys(f.grants)) {
			switch {
			case slices.Contains(policy.ClusterControllers, user), !f.may(user, o.namespace, schema.GroupResource{Group: o.controller.Group, Resource: plural + "/status"}):
			case slices.Contains(listed, user):
				recognized = true
			case f.may(user, o.namespace, policy.Nothing):
				wide = append(wide, user)
			default:
				recognized = recognized || plural == regular
				those = append(those, user)
			}
		}
		why := fmt.Sprintf("the plural of the kind is %s, and Holdfast looks for %s", plural, regular)
		remedy := `add it to deletion.workloadControllers in the configuration of Holdfast`
		if len(those) == 0 {
			those, why = wide, "each of them may update every resource"
			remedy = "find the operator among them, and give it a role that names its resources, or add only it to deletion.workloadControllers in the configuration of Holdfast"
		}
		if recognized || len(those) == 0 {
			continue
		}
		out = append(out, Finding{
			Others, Warning,
			fmt.Sprintf("the operator of %s cannot roll its protected pods in namespace %s (%d): Holdfast does not recognize %s, because %s",
				o.controller, o.namespace, f.operated[o], strings.Join(those, ", "), why),
			remedy,
		})
	}
	return out
}
