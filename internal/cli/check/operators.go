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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
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
	seen := map[string]bool{}
	for _, label := range []string{
		v1alpha1.DeletionProtectedLabel, v1alpha1.KarmadaDeletionProtectedLabel, v1alpha1.KruiseDeletionProtectionLabel, v1alpha1.MarkedLabel,
	} {
		list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return r.kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
		})
		r.gap("protected pods that operators run", list.EachListItem(ctx, metav1.ListOptions{LabelSelector: label}, func(o runtime.Object) error {
			pod := o.(*corev1.Pod)
			owner := metav1.GetControllerOfNoCopy(pod)
			if owner == nil || seen[string(pod.UID)] || label == v1alpha1.MarkedLabel && v1alpha1.MarkOf(pod, v1alpha1.ProtectedByMark) == "" {
				return nil
			}
			seen[string(pod.UID)] = true
			gv, err := schema.ParseGroupVersion(owner.APIVersion)
			f.operated[operated{gv.WithKind(owner.Kind).GroupKind(), pod.Namespace}]++
			return err
		}))
	}
}

// access reads the rules that bindings grant to service accounts, by user name.
func (r *reader) access(ctx context.Context, f *facts) {
	rbac := r.kube.RbacV1()
	f.grants = map[string][]grant{}
	rules := map[string][]rbacv1.PolicyRule{} // by namespace/name; without a namespace for a ClusterRole
	clusterRoles, err1 := rbac.ClusterRoles().List(ctx, metav1.ListOptions{})
	roles, err2 := rbac.Roles(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	clusterBindings, err3 := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	bindings, err4 := rbac.RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		r.gap("which operators Holdfast recognizes", err)
		return
	}
	for i := range clusterRoles.Items {
		rules["/"+clusterRoles.Items[i].Name] = clusterRoles.Items[i].Rules
	}
	for i := range roles.Items {
		rules[roles.Items[i].Namespace+"/"+roles.Items[i].Name] = roles.Items[i].Rules
	}
	bind := func(namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
		of := namespace
		if role.Kind == "ClusterRole" {
			of = ""
		}
		for _, s := range subjects {
			user := s.Name
			if s.Kind == rbacv1.ServiceAccountKind {
				user = policy.ServiceAccountUserPrefix + s.Namespace + ":" + s.Name
			}
			if s.Kind != rbacv1.GroupKind && strings.HasPrefix(user, policy.ServiceAccountUserPrefix) {
				f.grants[user] = append(f.grants[user], grant{namespace, rules[of+"/"+role.Name]})
			}
		}
	}
	for i := range clusterBindings.Items {
		bind("", clusterBindings.Items[i].RoleRef, clusterBindings.Items[i].Subjects)
	}
	for i := range bindings.Items {
		bind(bindings.Items[i].Namespace, bindings.Items[i].RoleRef, bindings.Items[i].Subjects)
	}
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
