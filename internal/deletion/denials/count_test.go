// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package denials

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	policyName  = "holdfast-deletion-protection"
	webhookName = "unless.example.com"
)

var sources = Sources{Policies: []string{policyName, policyName + "-while-used"}, Webhook: webhookName}

// known has protections of some names; a has commas in what it says.
func known(name string) (string, bool) {
	if name == "a" {
		return "a (ask us, or b, c (x))", true
	}
	return name, slices.Contains([]string{"b", "c", "data", "data.v2", "web"}, name)
}

// failing is the annotation of a request that violates policies.
func failing(action string, policies ...string) string {
	var list []map[string]any
	for _, p := range policies {
		list = append(list, map[string]any{"policy": p, "binding": p, "message": "no", "validationActions": []string{action, "Audit"}})
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(text)
}

func refusedDelete() *auditv1.Event {
	return &auditv1.Event{
		AuditID: "1", Stage: auditv1.StageResponseComplete, Verb: "delete",
		ResponseStatus: &metav1.Status{Code: http.StatusForbidden},
		Annotations:    map[string]string{failures: failing("Deny", policyName), policyName + "/protection": "data"},
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(e *auditv1.Event)
		want    []string
		refused bool
	}{
		{name: "a refused delete counts", change: func(*auditv1.Event) {}, want: []string{"data"}, refused: true},
		{name: "so does one of a collection", change: func(e *auditv1.Event) { e.Verb = "deletecollection" }, want: []string{"data"}, refused: true},
		{name: "an earlier stage does not", change: func(e *auditv1.Event) { e.Stage = auditv1.StageRequestReceived }},
		{name: "another verb does not", change: func(e *auditv1.Event) { e.Verb = "update" }},
		{name: "what was done does not", change: func(e *auditv1.Event) { e.ResponseStatus.Code = http.StatusOK }},
		{name: "no answer does not", change: func(e *auditv1.Event) { e.ResponseStatus = nil }},
		{
			name:   "who bypasses the protection and is refused by another policy does not",
			change: func(e *auditv1.Event) { e.Annotations[failures] = failing("Deny", "somebody-elses") },
		},
		{
			name:   "what the mode lets pass and another policy refuses does not",
			change: func(e *auditv1.Event) { e.Annotations[failures] = failing("Warn", policyName) },
		},
		{
			name:   "who has no right to delete does not",
			change: func(e *auditv1.Event) { e.Annotations = map[string]string{"authorization.k8s.io/decision": "forbid"} },
		},
		{
			name:   "a protection that is gone does not, but the request does",
			change: func(e *auditv1.Event) { e.Annotations[policyName+"/protection"] = "gone" }, refused: true,
		},
		{
			name: "several policies that name the same protection count once",
			change: func(e *auditv1.Event) {
				e.Annotations[failures] = failing("Deny", policyName, "holdfast-deletion-holdfast", policyName+"-while-used", policyName)
				e.Annotations[policyName+"-while-used/protection"] = "2_protections: data, web"
			},
			want: []string{"data", "web"}, refused: true,
		},
		{
			name:   "the webhook tells of refusals only",
			change: func(e *auditv1.Event) { e.Annotations = map[string]string{webhookName + "/protection": "web"} },
			want:   []string{"web"}, refused: true,
		},
		{name: "what cannot be read does not", change: func(e *auditv1.Event) { e.Annotations[failures] = "[" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := refusedDelete()
			tt.change(e)
			got, refused := sources.Refused(e, known)
			if diff := cmp.Diff(tt.want, got); diff != "" || refused != tt.refused {
				t.Errorf("refused %t, want %t; names (-want +got):\n%s", refused, tt.refused, diff)
			}
		})
	}
}

func TestProtections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, value string
		want        []string
	}{
		{"one", "data", []string{"data"}},
		{"several, with what they say", "3_protections: b (and why), data.v2, web (why not)", []string{"b", "data.v2", "web"}},
		{"names in what one says", "2_protections: a (ask us, or b, c (x)), web", []string{"a", "web"}},
		{"not more than there are", "2_protections: data, b, c", []string{"data", "b"}},
		{"one that is gone", "2_protections: gone (was ours), web", []string{"web"}},
		{"one that says something else now", "2_protections: a (ask), web", []string{"a", "web"}},
		{"a text that was cut off", "3_protections: b, c (and so …", []string{"b", "c"}},
		{"a text that is not there", "3_protections: ", nil},
		{"nothing", "", nil},
		{"no name", "A b", nil},
		{"no number", "x_protections: a", nil},
		{"a number below zero", "-1_protections: a", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, protections(tt.value, known)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAdd_keepsTheLastTime(t *testing.T) {
	t.Parallel()
	early := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	late := metav1.NewTime(early.Add(time.Minute))
	var sum v1alpha1.Denials
	for _, more := range []v1alpha1.Denials{{}, {Count: 1, Last: &early}, {Count: 2, Last: &late}, {Count: 1, Last: &early}, {}} {
		add(&sum, more)
	}
	if diff := cmp.Diff(v1alpha1.Denials{Count: 4, Last: &late}, sum); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is turned off asks the API server nothing, and gives it no reason to post
// the same again.
func TestHandler_off(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Mode: func() configv1alpha1.Mode { return configv1alpha1.ModeOff }})
	w := httptest.NewRecorder()
	if h.Admit(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader("x"))) || w.Code != http.StatusOK {
		t.Errorf("got %d, want 200", w.Code)
	}
}

func FuzzRefused(f *testing.F) {
	list := auditv1.EventList{Items: []auditv1.Event{*refusedDelete()}}
	list.SetGroupVersionKind(auditv1.SchemeGroupVersion.WithKind("EventList"))
	good, err := json.Marshal(list)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{"responseStatus":null},null]}`))
	f.Add(bytes.Replace(good, []byte(`"data"`), []byte(`"2_protections: data (a, b), c"`), 1))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := decode(bytes.NewReader(body))
		if err != nil {
			return
		}
		for i := range list.Items {
			names, refused := sources.Refused(&list.Items[i], known)
			if len(names) > 0 && !refused {
				t.Errorf("%q refused nothing", names)
			}
			seen := map[string]bool{}
			for _, name := range names {
				if seen[name] {
					t.Errorf("%q: a name twice", names)
				}
				seen[name] = true
			}
		}
	})
}
