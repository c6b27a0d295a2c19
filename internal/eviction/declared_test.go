// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What the API server is told is that of the Strimzi Drain Cleaner, but for the side
// effects, which there are.
func TestDeclared(t *testing.T) {
	t.Parallel()
	got := guardOf(t, testkit.Shared(t))
	got.ClientConfig = admissionregistrationv1.WebhookClientConfig{}
	want := admissionregistrationv1.ValidatingWebhook{
		Name: "strimzi-drain-cleaner.strimzi.io",
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}, Scope: new(admissionregistrationv1.NamespacedScope),
			},
		}},
		FailurePolicy: new(admissionregistrationv1.Ignore), MatchPolicy: new(admissionregistrationv1.Equivalent),
		SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun), TimeoutSeconds: new(int32(5)),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		AdmissionReviewVersions: []string{"v1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nobody who cannot prove the certificate is talked to: the port speaks TLS alone.
func TestDeclared_nothingIsServedInTheClear(t *testing.T) {
	t.Parallel()
	where := guardOf(t, testkit.Shared(t)).ClientConfig
	if where.URL == nil {
		t.Fatalf("got %+v, want a URL, as managers of tests have", where)
	}
	if !strings.HasPrefix(*where.URL, "https://") || !strings.HasSuffix(*where.URL, "/drainer") || len(where.CABundle) == 0 {
		t.Errorf("got %+v", where)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(*where.URL, "https://", "http://", 1), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusBadRequest || strings.TrimSpace(string(text)) != "Client sent an HTTP request to an HTTPS server." {
		t.Errorf("got %s: %s", resp.Status, text)
	}
}
