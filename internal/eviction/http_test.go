// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What the server of the port refuses before a handler is asked is tested in internal/platform/serving.
func TestHTTP_whatIsNoQuestion(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	question := asks("default", "no-such-pod")
	for _, tt := range []struct {
		name string
		body io.Reader
		want int
		text string
	}{
		{name: "a question", body: strings.NewReader(question), want: http.StatusOK},
		{name: "no body", want: http.StatusBadRequest, text: "decode AdmissionReview: unexpected end of JSON input"},
		{name: "half a body", body: strings.NewReader(question[:40]), want: http.StatusBadRequest, text: "decode AdmissionReview: unexpected end of JSON input"},
		{name: "no JSON", body: strings.NewReader("evict!"), want: http.StatusBadRequest},
		{name: "JSON of another form", body: strings.NewReader(`["evict"]`), want: http.StatusBadRequest},
		{name: "a request of another form", body: strings.NewReader(`{"request": "evict"}`), want: http.StatusBadRequest},
		{name: "null", body: strings.NewReader("null"), want: http.StatusInternalServerError, text: "the AdmissionReview has no request"},
		{name: "no request", body: strings.NewReader(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`), want: http.StatusInternalServerError, text: "the AdmissionReview has no request"},
		{name: "a request that is null", body: strings.NewReader(`{"request":null}`), want: http.StatusInternalServerError, text: "the AdmissionReview has no request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, text := r.post(t, tt.body, "")
			if resp.StatusCode != tt.want || tt.text != "" && strings.TrimSpace(text) != tt.text {
				t.Errorf("got %s: %s, want %d: %s", resp.Status, text, tt.want, tt.text)
			}
		})
	}
}

// The whole answer, as it is sent.
func TestHTTP_theWholeAnswer(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	p := kafkaPod(t, r, e.Namespace(t))
	const before = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":`
	for name, tt := range map[string]struct{ question, want string }{
		"of v1":                    {asks(p.Namespace, p.Name), before + stays + "}"},
		"of v1beta1":               {strings.Replace(asks(p.Namespace, p.Name), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), before + stays + "}"},
		"that the eviction passes": {asks(p.Namespace, p.Name, withUID("another")), before + passes + "}"},
	} {
		resp, text := r.post(t, strings.NewReader(tt.question), "?timeout=5s")
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s with %v", name, resp.Status, resp.Header)
		}
		if diff := cmp.Diff(tt.want, text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The words are those of seed 000, and so is the level.
func TestLog_anEvictionOutOfScope(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	r.watched(t, "kafka-prod,kafka-dev")
	ask := asks("app-namespace", "some-pod", func(request, _ question) { request["uid"] = "out-of-scope" })
	if diff := cmp.Diff(`{"uid":"out-of-scope","allowed":true}`, r.ask(t, ask)); diff != "" {
		t.Error(diff)
	}
	got := saidAbout("out-of-scope")
	if !strings.Contains(got, `"level"=1 "msg"="Ignoring eviction request for Pod some-pod in namespace app-namespace - namespace not in watch list"`) ||
		strings.Contains(got, "\n") {
		t.Errorf("got %s", got)
	}
	if evictions, namespaces := r.filter.take(); evictions != 1 || namespaces != 1 {
		t.Errorf("counted %d evictions of %d namespaces", evictions, namespaces)
	}
	if gets, patches := r.wire.calls(); gets+patches != 0 {
		t.Errorf("got %d GETs and %d PATCHes, want none", gets, patches)
	}
}
