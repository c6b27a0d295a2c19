// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

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
)

// GuardUser is who the guard is to the API server.
const GuardUser = "system:serviceaccount:holdfast-system:holdfast-guard"

// Hangs is in the place of a code for no answer at all.
const Hangs = 0

// Faults have the API server fail to take what the guard writes, by a webhook of
// somebody else.
type Faults struct {
	ended chan struct{}

	mu sync.Mutex
	// codes are what the API server answers with, by the names of objects.
	codes map[string]int32
	asked map[string]int
}

// NewFaults is for objects of one resource of the core group in one namespace. What the
// guard writes to those that have a code is answered with it, until it is lifted.
func NewFaults(t testing.TB, e *Env, namespace, resource string, codes map[string]int32) *Faults {
	t.Helper()
	f := &Faults{ended: make(chan struct{}), codes: codes, asked: map[string]int{}}
	server := httptest.NewTLSServer(f)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: faults-`+namespace+`},
		webhooks: [{name: faults.example.org, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Fail, timeoutSeconds: 30,
			clientConfig: {url: "`+server.URL+`", caBundle: "`+base64.StdEncoding.EncodeToString(bundle)+`"},
			namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+namespace+`}},
			matchConditions: [{name: guard, expression: "request.userInfo.username == '`+GuardUser+`'"}],
			rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [`+resource+`]}]}]}`)
	t.Cleanup(func() {
		close(f.ended)
		server.Close()
	})
	return f
}

// Lift ends the fault of an object.
func (f *Faults) Lift(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.codes, name)
}

// Asked is how often the guard has tried to write an object.
func (f *Faults) Asked(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[name]
}

// ServeHTTP implements http.Handler.
func (f *Faults) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var in admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil || in.Request == nil {
		http.Error(w, "post an AdmissionReview", http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	code, faulty := f.codes[in.Request.Name]
	f.asked[in.Request.Name]++
	f.mu.Unlock()
	in.Response = &admissionv1.AdmissionResponse{UID: in.Request.UID, Allowed: !faulty}
	switch {
	case !faulty:
	case code == Hangs:
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
