// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

func TestProtectsPod(t *testing.T) {
	t.Parallel()
	elsewhere, err := scope.Compile(configv1alpha1.Scope{Namespaces: []string{"!shop"}})
	if err != nil {
		t.Fatal(err)
	}
	labelled := metav1.ObjectMeta{Name: "web", Labels: map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways}}
	now := metav1.Now()
	tests := []struct {
		name  string
		mode  configv1alpha1.Mode
		where scope.Scope
		ns    metav1.ObjectMeta
		pod   metav1.ObjectMeta
		want  bool
	}{
		{name: "a pod with the label is protected", pod: labelled, want: true},
		{name: "a pod without one is not", pod: metav1.ObjectMeta{Name: "web"}},
		{name: "nothing is protected below Enforce", mode: configv1alpha1.ModeWarn, pod: labelled},
		{name: "nothing is protected out of scope", where: elsewhere, pod: labelled},
		{name: "nothing is protected in a namespace that goes", ns: metav1.ObjectMeta{DeletionTimestamp: &now}, pod: labelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := configv1alpha1.HoldfastConfiguration{Deletion: configv1alpha1.DeletionConfiguration{Mode: tt.mode}}
			configv1alpha1.SetDefaults(&c)
			tt.ns.Name = "shop"
			if got := policy.ProtectsPod(c.Deletion, tt.where, &tt.ns, &tt.pod); (got != "") != tt.want {
				t.Errorf("got %q, want protected: %v", got, tt.want)
			}
		})
	}
}
