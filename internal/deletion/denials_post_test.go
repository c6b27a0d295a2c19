// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// post sends a body to a manager as an API server does, and returns the status of
// the answer.
func post(t testing.TB, webhooks, token, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, webhooks+"/audit", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// refusals are n refused deletions, as an API server tells of them.
func refusals(t testing.TB, protection string, n int) string {
	t.Helper()
	list := auditv1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "audit.k8s.io/v1", Kind: "EventList"}}
	now := metav1.NowMicro()
	for i := range n {
		list.Items = append(list.Items, auditv1.Event{
			AuditID: types.UID(fmt.Sprint(i)), Stage: auditv1.StageResponseComplete, Verb: "delete",
			RequestReceivedTimestamp: now, StageTimestamp: now,
			ResponseStatus: &metav1.Status{Code: http.StatusForbidden},
			Annotations: map[string]string{
				"validation.policy.admission.k8s.io/validation_failure": `[{"policy":"holdfast-deletion-protection","validationActions":["Deny","Audit"]}]`,
				"holdfast-deletion-protection/protection":               protection,
			},
		})
	}
	body, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestDenials_whoMayPostAndTwoReplicas(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	other := e.StartManager(t)
	g := gomega.NewWithT(t)
	done(t, e, "apply", "--server-side", "-f", filepath.Join(auditFolder, "poster.yaml"))
	token := func(account string) string {
		out := e.Kubectl(t, "create", "token", account, "-n", "holdfast-system")
		if out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		return strings.TrimSpace(out.Stdout)
	}
	protect(t, e, "mine", `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: mine}]}]}`)
	g.Eventually(statusOf(t, e, "mine", readyOf), "180s", "100ms").Should(gomega.Equal("True Protected"))
	poster, nobody := token("holdfast-audit"), token("holdfast-guard")
	g.Eventually(func() int { return post(t, other.Webhooks, nobody, "{}") }, "180s", "50ms").Should(gomega.Equal(http.StatusForbidden), "not ready")

	forged := refusals(t, "mine", 1)
	for _, tt := range []struct {
		name, token, body string
		want              int
	}{
		{"no token", "", forged, http.StatusUnauthorized},
		{"a token that is none", "forged", forged, http.StatusUnauthorized},
		{"a user without the right", nobody, forged, http.StatusForbidden},
		{"no list of events", poster, `{"kind":"Event","apiVersion":"audit.k8s.io/v1"}`, http.StatusBadRequest},
		{"no JSON", poster, `events`, http.StatusBadRequest},
		{"too much", poster, strings.Repeat(" ", 17<<20), http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, e.Manager.Webhooks, tt.token, tt.body); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	g.Expect(e.Metric(t, "holdfast_deletion_denials_total")).To(gomega.BeZero())
	g.Expect(statusOf(t, e, "mine", `{.status.denials}`)()).To(gomega.BeEmpty())

	// No denial, and that is known.
	g.Expect(post(t, e.Manager.Webhooks, poster, refusals(t, "mine", 0))).To(gomega.Equal(http.StatusOK))
	g.Eventually(statusOf(t, e, "mine", `{.status.denials}`), "180s", "200ms").Should(gomega.Equal(`{"count":0}`))

	// Both replicas count, and one hears the same twice.
	first := refusals(t, "mine", 3)
	before := time.Now()
	for _, p := range []struct{ webhooks, body string }{
		{e.Manager.Webhooks, first}, {other.Webhooks, refusals(t, "mine", 4)}, {e.Manager.Webhooks, first},
		{other.Webhooks, refusals(t, "somebody-elses", 2)},
	} {
		g.Expect(post(t, p.webhooks, poster, p.body)).To(gomega.Equal(http.StatusOK))
	}
	g.Eventually(denialsOf(t, e, "mine"), "180s", "200ms").Should(gomega.Equal("7"))
	g.Expect(e.Metric(t, "holdfast_deletion_denials_total")).To(gomega.BeEquivalentTo(3))
	last, err := time.Parse(time.RFC3339, statusOf(t, e, "mine", `{.status.denials.last}`)())
	if err != nil || last.Before(before.Add(-time.Minute)) || last.After(before.Add(time.Minute)) {
		t.Errorf("the last was at %s: %v", last, err)
	}
	out := e.Kubectl(t, "get", "rdp", "mine", "-o", `jsonpath={.status.denials.count} {.status.matches.total}`)
	g.Expect(out.Stdout).To(gomega.Equal("7 0"))
}
