// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// faults have the API server fail to take what the guard writes to pods, by a
// webhook of somebody else.
type faults struct {
	ended chan struct{}

	mu sync.Mutex
	// pods have the code that the API server answers with, by their names; hangs
	// for no answer.
	pods map[string]int32
}

// hangs is in the place of a code.
const hangs = 0

// newFaults is for the pods of one namespace.
func newFaults(t testing.TB, e *testkit.Env, namespace string, pods map[string]int32) *faults {
	t.Helper()
	f := &faults{ended: make(chan struct{}), pods: pods}
	server := httptest.NewTLSServer(f)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: faults-`+namespace+`},
		webhooks: [{name: faults.example.org, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Fail, timeoutSeconds: 30,
			clientConfig: {url: "`+server.URL+`", caBundle: "`+base64.StdEncoding.EncodeToString(bundle)+`"},
			namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+namespace+`}},
			matchConditions: [{name: guard, expression: "request.userInfo.username == '`+guardUser+`'"}],
			rules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods]}]}]}`)
	t.Cleanup(func() {
		close(f.ended)
		server.Close()
	})
	return f
}

// lift ends the fault of a pod.
func (f *faults) lift(pod string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pods, pod)
}

// ServeHTTP implements http.Handler.
func (f *faults) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var in admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil || in.Request == nil {
		http.Error(w, "post an AdmissionReview", http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	code, faulty := f.pods[in.Request.Name]
	f.mu.Unlock()
	in.Response = &admissionv1.AdmissionResponse{UID: in.Request.UID, Allowed: !faulty}
	switch {
	case !faulty:
	case code == hangs:
		select { // and what comes too late is no leave
		case <-req.Context().Done():
		case <-f.ended:
		}
	default:
		in.Response.Result = &metav1.Status{Code: code, Message: "not now"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(in) // nobody may be there any more
}
