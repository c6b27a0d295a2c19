// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const grantTimeout = 180 * time.Second

func (e *Env) grant(ctx context.Context, namespace, user string, rules []rbacv1.PolicyRule) error {
	var role, binding client.Object
	meta := metav1.ObjectMeta{GenerateName: "grant-", Namespace: namespace, Labels: made()}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if namespace == "" {
		role = &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
	} else {
		role = &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	}
	if err := e.Client.Create(ctx, role); err != nil {
		return fmt.Errorf("make role: %w", err)
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Name: role.GetName()}
	if namespace == "" {
		ref.Kind = "ClusterRole"
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	} else {
		ref.Kind = "Role"
		binding = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	if err := e.Client.Create(ctx, binding); err != nil {
		return fmt.Errorf("make binding: %w", err)
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, grantTimeout, true, func(ctx context.Context) (bool, error) {
		for _, rule := range rules {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0],
				},
			}}
			if err := e.Client.Create(ctx, review); err != nil {
				return false, err
			}
			if !review.Status.Allowed {
				return false, nil
			}
		}
		return true, nil
	})
}

// Rule is a PolicyRule for some resources of one group.
func Rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}
