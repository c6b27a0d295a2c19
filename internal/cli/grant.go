// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// unprotectRight names the right to take protection away.
const unprotectRight = `the RBAC verb "` + v1alpha1.UnprotectVerb + `" on ` + v1alpha1.UnprotectResource + "." + v1alpha1.GroupName

// rightIn says where a right must be held.
func rightIn(namespace string) string {
	if namespace == "" {
		return "cluster-wide"
	}
	return "in namespace " + namespace
}

// refusedByRule says whether the API server refused a change because of the
// right to unprotect, and not because of anything else that RBAC forbids.
func refusedByRule(err error) bool {
	return apierrors.IsForbidden(err) && slices.ContainsFunc(labelKeys(), func(k policy.Key) bool {
		return strings.Contains(err.Error(), k.PolicyName(policy.RuleUnprotect))
	})
}

// adviseUnprotect says who can let the user take the protection away, and with
// what, once for each namespace.
func (c *clients) adviseUnprotect(ctx context.Context, refused []target) {
	namespaces := sets.New[string]()
	for _, t := range refused {
		namespaces.Insert(policy.UnprotectNamespace(t.kind.GroupResource(), t.meta.Namespace))
	}
	c.grantAdvice(ctx, sets.List(namespaces))
}

// grantAdvice says how the right to unprotect is granted in some namespaces; the
// empty one is cluster-wide.
func (c *clients) grantAdvice(ctx context.Context, places []string) {
	subject := authenticationv1.UserInfo{Username: "YOUR-NAME"}
	if user, err := c.whoAmI(ctx); err == nil {
		subject = user
	}
	where := make([]string, 0, len(places))
	for _, ns := range places {
		where = append(where, rightIn(ns))
	}
	c.Notef("\nTaking protection away needs %s, %s.\n"+
		"Somebody who holds it there, or a cluster administrator, can grant it, as with:\n\n%s",
		unprotectRight, strings.Join(where, " and "), grantExample(places[0], subject.Username))
}

// grantExample is a role that holds the right, and its binding, ready for
// kubectl apply.
func grantExample(namespace, user string) string {
	prefix, meta := "Cluster", "  name: holdfast-unprotect"
	if namespace != "" {
		prefix, meta = "", meta+"\n  namespace: "+namespace
	}
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sRole
metadata:
%[2]s
rules:
- apiGroups: [%[3]s]
  resources: [%[4]s]
  verbs: [%[5]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sRoleBinding
metadata:
%[2]s
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: %[1]sRole
  name: holdfast-unprotect
subjects:
%[6]s`, prefix, meta, v1alpha1.GroupName, v1alpha1.UnprotectResource, v1alpha1.UnprotectVerb, grantee(user))
}

// grantee is the subject of a binding for a user.
func grantee(user string) string {
	if rest, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		if namespace, name, ok := strings.Cut(rest, ":"); ok {
			return fmt.Sprintf("- kind: ServiceAccount\n  name: %s\n  namespace: %s", name, namespace)
		}
	}
	return fmt.Sprintf("- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: %q", user)
}
