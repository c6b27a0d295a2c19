// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestGrantExample(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, namespace, user string
		wantKinds             string
		wantSubject           rbacv1.Subject
	}{
		{"a user in a namespace", "shop", "alice", "Role RoleBinding", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"}},
		{"cluster-wide", "", "alice", "ClusterRole ClusterRoleBinding", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"}},
		{"a service account", "shop", "system:serviceaccount:ci:deployer", "Role RoleBinding", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "deployer"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			roleText, bindingText, ok := strings.Cut(grantExample(tt.namespace, tt.user), "---\n")
			if !ok {
				t.Fatal("not two documents")
			}
			var role rbacv1.Role
			if err := yaml.UnmarshalStrict([]byte(roleText), &role); err != nil {
				t.Fatal(err)
			}
			var binding rbacv1.RoleBinding
			if err := yaml.UnmarshalStrict([]byte(bindingText), &binding); err != nil {
				t.Fatal(err)
			}
			if got := role.Kind + " " + binding.Kind; got != tt.wantKinds || binding.RoleRef.Kind != role.Kind || binding.RoleRef.Name != role.Name {
				t.Errorf("got %s, which refers to %v, want %s", got, binding.RoleRef, tt.wantKinds)
			}
			if role.Namespace != tt.namespace || binding.Namespace != tt.namespace {
				t.Errorf("got namespaces %q and %q", role.Namespace, binding.Namespace)
			}
			if diff := cmp.Diff([]rbacv1.Subject{tt.wantSubject}, binding.Subjects); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			want := []rbacv1.PolicyRule{{APIGroups: []string{"holdfast.dev"}, Resources: []string{"resourcedeletionprotections"}, Verbs: []string{"unprotect"}}}
			if diff := cmp.Diff(want, role.Rules); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRefusedByRule(t *testing.T) {
	t.Parallel()
	forbidden := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New(text))
	}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{forbidden("ValidatingAdmissionPolicy 'holdfast-deletion-holdfast-unprotect' with binding 'x' denied request: no"), true},
		{forbidden("ValidatingAdmissionPolicy 'holdfast-deletion-karmada-unprotect' with binding 'x' denied request: no"), true},
		{forbidden(`User "alice" cannot patch resource "configmaps"`), false},
		{errors.New("holdfast-deletion-holdfast-unprotect"), false},
	} {
		if got := refusedByRule(tt.err); got != tt.want {
			t.Errorf("%v: got %t", tt.err, got)
		}
	}
}
