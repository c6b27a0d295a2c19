// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

func TestUnrecognized(t *testing.T) {
	t.Parallel()
	const operator, other = "system:serviceaccount:search:operator", "system:serviceaccount:search:other"
	status := func(group, resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{Verbs: []string{"get", "update"}, APIGroups: []string{group}, Resources: []string{resource}}}
	}
	everything := status("*", "*")
	index, broker, set := schema.GroupKind{Group: "x.example", Kind: "Index"}, schema.GroupKind{Group: "x.example", Kind: "Broker"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	for _, tt := range []struct {
		name   string
		of     schema.GroupKind
		grants map[string][]grant
		listed []string
		want   string
	}{
		{name: "the rule of the policies recognizes it", of: broker, grants: map[string][]grant{operator: {{"", status("x.example", "brokers/status")}}}},
		{
			name: "the plural of the kind is irregular", of: index, grants: map[string][]grant{operator: {{"", status("x.example", "indices/status")}}},
			want: "Warning: the operator of Index.x.example cannot roll its protected pods in namespace n (2): Holdfast does not recognize " + operator +
				", because the plural of the kind is indices, and Holdfast looks for indexes",
		},
		{
			name: "the configuration lists it", of: index, listed: []string{operator}, grants: map[string][]grant{operator: {{"", status("x.example", "indices/status")}}},
		},
		{
			name: "it may update every resource", of: broker, grants: map[string][]grant{operator: {{"", everything}}, other: {{"n", everything}}},
			want: "Warning: the operator of Broker.x.example cannot roll its protected pods in namespace n (2): Holdfast does not recognize " + operator + ", " + other +
				", because each of them may update every resource",
		},
		{
			name: "another service account is recognized, so one with all rights need not be an operator", of: broker,
			grants: map[string][]grant{operator: {{"n", status("x.example", "brokers/status")}}, other: {{"", everything}}},
		},
		{name: "the rights are those of another namespace", of: index, grants: map[string][]grant{operator: {{"m", status("x.example", "indices/status")}}}},
		{name: "the rights do not include the status", of: index, grants: map[string][]grant{operator: {{"", status("x.example", "indices")}}}},
		{name: "the controller is a kind of Kubernetes", of: set, grants: map[string][]grant{operator: {{"", everything}}}},
		{
			name: "service accounts that may update every resource are left out where there are others", of: index,
			grants: map[string][]grant{operator: {{"", everything}}, other: {{"", status("x.example", "indices/status")}}},
			want: "Warning: the operator of Index.x.example cannot roll its protected pods in namespace n (2): Holdfast does not recognize " + other +
				", because the plural of the kind is indices, and Holdfast looks for indexes",
		},
		{name: "controllers of Kubernetes are no operators", of: broker, grants: map[string][]grant{policy.ClusterControllers[1]: {{"", everything}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &facts{
				plurals:  map[schema.GroupKind]string{index: "indices", broker: "brokers"},
				operated: map[operated]int{{tt.of, "n"}: 2}, grants: tt.grants,
			}
			if diff := cmp.Diff(tt.want, brief(unrecognized(f, tt.listed))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAccountOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		subject rbacv1.Subject
		want    string
	}{
		{"a service account", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "search", Name: "operator"}, "system:serviceaccount:search:operator"},
		{"a user with the name of a service account", rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:search:operator"}, "system:serviceaccount:search:operator"},
		{"a name that is none, with a control sequence", rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:search:\x1b[2J"}, ""},
		{"a namespace that is none", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "a b", Name: "operator"}, ""},
		{"a user", rbacv1.Subject{Kind: "User", Name: "ann"}, ""},
		{"a group", rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts"}, ""},
	} {
		if got := accountOf(tt.subject); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
