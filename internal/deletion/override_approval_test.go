// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// waitsForASecondPerson is with a configuration that requires it.
func waitsForASecondPerson(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	configure(t, e, "{overrides: {approval: Required, maxDuration: 2h}}")
	ns := e.Namespace(t)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	// Whoever asks need not have the right that whoever consents needs.
	for _, user := range []string{"alice", "bob", "carol"} {
		e.Grant(t, "", user, testkit.Rule(v1alpha1.GroupName, []string{"deletionoverrides"}, "create", "patch"))
	}
	mayUnprotect(t, e, ns, "bob")
	mayUnprotect(t, e, ns, "dave")
	consent := func(user, name string) error {
		o := &v1alpha1.DeletionOverride{}
		o.Name = "x"
		return e.As(t, user).Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approvedBy":"`+name+`"}}`)))
	}
	o := overrideOf(t, e, "x", "alice", cm)
	o.Spec.Duration = "2h"
	g.Eventually(func() error { return e.As(t, "alice").Create(t.Context(), o.DeepCopy(), client.DryRunAll) }, "180s", "100ms").Should(gomega.Succeed(), "it may be so long")
	ask(t, e, e.As(t, "alice"), o)

	g.Eventually(phase(t, e, "x"), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideWaiting))
	g.Expect(messageOf(t, e, "x")).To(gomega.Equal("a second person must consent, who may unprotect the target: kubectl holdfast override approve x"))
	g.Consistently(stampOf(t, e, cm), "1s", "100ms").Should(gomega.BeEmpty())
	if err := tryDelete(t.Context(), e.Client, cm); !apierrors.IsForbidden(err) {
		t.Errorf("before consent: got %v, want a 403", err)
	}
	for _, tt := range []struct{ name, user, as, want string }{
		{name: "whoever asks", user: "alice", as: "alice", want: "whoever asks for an override cannot consent to it; a second person must"},
		{name: "whoever asks, in another name", user: "alice", as: "bob", want: "spec.approvedBy must be the name of whoever consents: alice"},
		{name: "a second person without the right to unprotect", user: "carol", as: "carol", want: `to consent to an override needs the RBAC verb "unprotect"`},
		{name: "a second person in another name", user: "bob", as: "dave", want: "spec.approvedBy must be the name of whoever consents: bob"},
		{name: "one who may not write overrides", user: "dave", as: "dave", want: `cannot patch resource "deletionoverrides"`},
	} {
		if err := consent(tt.user, tt.as); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("consent by %s: got %v, want a 403 with %q", tt.name, err, tt.want)
		}
	}
	g.Expect(phase(t, e, "x")()).To(gomega.Equal(v1alpha1.OverrideWaiting))

	if err := consent("bob", "bob"); err != nil {
		t.Fatalf("a second person consents: %v", err)
	}
	g.Eventually(phase(t, e, "x"), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideActive))
	g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.Equal("x"))
	// For whoever may delete it, not for whoever asked.
	if err := e.As(t, "alice").Delete(t.Context(), cm); !apierrors.IsForbidden(err) {
		t.Errorf("by one who may not delete ConfigMaps: got %v, want a 403", err)
	}
	if err := e.Client.Delete(t.Context(), cm); err != nil {
		t.Errorf("after consent: %v", err)
	}
	g.Eventually(phase(t, e, "x"), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
	g.Expect(e.Kubectl(t, "get", "dov", "x", "--no-headers").Stdout).To(gomega.MatchRegexp(`^x +ConfigMap +` + ns + ` +x +Used +alice +bob +20`))
}
