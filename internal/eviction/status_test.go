// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// policyStatus is the status of an EvictionPolicy.
func policyStatus(t testing.TB, e *testkit.Env, name string) v1alpha1.EvictionPolicyStatus {
	t.Helper()
	in := &v1alpha1.EvictionPolicy{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: name}, in); err != nil {
		t.Fatal(err)
	}
	return in.Status
}

// waiting reads how many pods an EvictionPolicy holds.
func waiting(t testing.TB, e *testkit.Env, name string) func() int32 {
	t.Helper()
	return func() int32 { return policyStatus(t, e, name).Waiting }
}

// status is that of Holdfast; nothing where no manager has written one yet.
func status(t testing.TB, e *testkit.Env) v1alpha1.HoldfastStatus {
	t.Helper()
	in := &v1alpha1.Holdfast{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, in); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return in.Status
}

// condition reads reason and message of a condition of Holdfast.
func condition(t testing.TB, e *testkit.Env, kind string) func() string {
	t.Helper()
	return func() string {
		if c := meta.FindStatusCondition(status(t, e).Conditions, kind); c != nil {
			return c.Reason + " " + c.Message
		}
		return "none"
	}
}

// reasons reads those of the Events in a namespace.
func reasons(t testing.TB, e *testkit.Env, namespace string) func() []string {
	t.Helper()
	return func() (out []string) {
		events := &corev1.EventList{}
		if err := e.Client.List(t.Context(), events, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range events.Items {
			out = append(out, events.Items[i].Reason)
		}
		return out
	}
}

// configure replaces the configuration.
func configure(t testing.TB, e *testkit.Env, text string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast-system", Name: "holdfast"}}
	cm.Data = map[string]string{"config.yaml": "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n" + text + "\n"}
	if err := e.Client.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
}

// inForce waits until a configuration with the text is.
func inForce(t testing.TB, e *testkit.Env, text string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string { return status(t, e).Configuration }, "180s", "100ms").Should(gomega.ContainSubstring(text))
}

// guards are the webhooks in the API server that have the name of the Drain Cleaner's, of which there is one
// at most.
func guards(t testing.TB, e *testkit.Env) []admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	in := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: admission.WebhookConfigurationName}, in); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	var out []admissionregistrationv1.ValidatingWebhook
	for _, w := range in.Webhooks {
		if w.Name == "strimzi-drain-cleaner.strimzi.io" {
			out = append(out, w)
		}
	}
	return out
}

// guardOf is the one that there is.
func guardOf(t testing.TB, e *testkit.Env) admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	found := guards(t, e)
	if len(found) != 1 {
		t.Fatalf("got the webhooks %v, want one", found)
	}
	return found[0]
}

// failsClosed waits until the API server is told to refuse an eviction that the guard does not answer.
func failsClosed(t testing.TB, e *testkit.Env) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() bool {
		found := guards(t, e)
		return len(found) == 1 && *found[0].FailurePolicy == admissionregistrationv1.Fail
	}, "180s", "100ms").Should(gomega.BeTrue())
}

// matchExpressions are the conditions under which the API server asks the guard.
func matchExpressions(t testing.TB, e *testkit.Env) string {
	t.Helper()
	var out []string
	for _, w := range guards(t, e) {
		for _, c := range w.MatchConditions {
			out = append(out, c.Expression)
		}
	}
	return strings.Join(out, "\n")
}
