// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

func TestTaken(t *testing.T) {
	t.Parallel()
	const want = config.Empty + "hierarchy: {mode: Enforce, standBy: true, excludedNamespaces: []}\n"
	printed := func(text string) string {
		out, err := printed(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	tests := []struct {
		name    string
		status  *v1alpha1.HoldfastStatus
		missing string
		exactly bool
	}{
		{"not started", nil, "Holdfast has not started yet", false},
		{"as it was before", &v1alpha1.HoldfastStatus{Configuration: printed(config.Empty)}, "has not taken the configuration yet", false},
		{"taken", &v1alpha1.HoldfastStatus{Configuration: printed(want)}, "", true},
		{"taken, where flags go before it", &v1alpha1.HoldfastStatus{Configuration: printed(strings.Replace(want, "[]", "[a]", 1))}, "", false},
		{
			"refused",
			&v1alpha1.HoldfastStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionConfigurationAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRefused, Message: "no"}}},
			"Holdfast does not take the configuration: no", false,
		},
		{
			"taken, where a variable of the environment is not valid",
			&v1alpha1.HoldfastStatus{Configuration: printed(want), Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionConfigurationAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInvalidVariable},
			}}, "", true,
		},
		{"of a newer Holdfast", &v1alpha1.HoldfastStatus{Configuration: printed(want) + "later: {}\n"}, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			missing, exactly, err := taken(tt.status, want)
			if err != nil || !strings.Contains(missing, tt.missing) || (missing == "") != (tt.missing == "") || exactly != tt.exactly {
				t.Errorf("got %q, %t, %v", missing, exactly, err)
			}
		})
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	s := &v1alpha1.HoldfastStatus{Conditions: []metav1.Condition{
		{Type: "Good", Status: metav1.ConditionTrue, Reason: "Kept", Message: "fine"}, {Type: "Bad", Status: metav1.ConditionFalse, Reason: "No", Message: "not fine"},
	}}
	for _, tt := range []struct{ kind, reason, want string }{
		{"Good", "", ""}, {"Good", "Kept", ""}, {"Good", "StandsBy", "Good: fine"}, {"Bad", "", "Bad: not fine"}, {"Other", "", "Holdfast does not say Other yet"},
	} {
		if got := lacks(s, tt.kind, tt.reason); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.kind, tt.reason, got, tt.want)
		}
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	definition := func(version, fields string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		text := "{spec: {versions: [{name: " + version + ", served: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {" + fields + "}}}}}}]}}"
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	wanted := []string{"spec.excludedNamespaces", "spec.resources.mode:AllowPropagate"}
	const excluded, resources = "excludedNamespaces: {type: array}", "resources: {items: {properties: {mode: {enum: [%s]}}}}"
	modes := func(list string) string { return strings.Replace(resources, "%s", list, 1) }
	tests := []struct {
		name string
		o    *unstructured.Unstructured
		want string
	}{
		{"Holdfast's", definition("v1alpha2", excluded+", "+modes("Propagate, AllowPropagate")), ""},
		{"of HNC 1.1", definition("v1alpha2", modes("Propagate, AllowPropagate")), "it does not have spec.excludedNamespaces: kubectl apply"},
		{"of an older HNC", definition("v1alpha2", modes("Propagate")), "it does not have spec.excludedNamespaces and spec.resources.mode AllowPropagate: kubectl apply"},
		{"of a very old HNC", definition("v1alpha1", ""), "hnc.x-k8s.io/v1alpha2 is not served: upgrade HNC to 1.1 first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := lacking(tt.o, wanted)
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
