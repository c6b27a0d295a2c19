// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestFromAdmission_namesAndShapes(t *testing.T) {
	t.Parallel()
	raw := func(s string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(s)} }
	tests := []struct {
		name    string
		in      admissionv1.AdmissionRequest
		wantErr error
		anyErr  bool
	}{
		{name: "a delete carries the old object", in: admissionv1.AdmissionRequest{Operation: admissionv1.Delete, OldObject: raw(`{"metadata":{"name":"a"}}`), Object: raw("null")}},
		{name: "a delete without the old object cannot be judged", in: admissionv1.AdmissionRequest{Operation: admissionv1.Delete}, wantErr: ErrNoObject},
		{name: "an update without the old object cannot be judged", in: admissionv1.AdmissionRequest{Operation: admissionv1.Update, Object: raw(`{}`)}, wantErr: ErrNoObject},
		{name: "a create without an object cannot be judged", in: admissionv1.AdmissionRequest{Operation: admissionv1.Create}, wantErr: ErrNoObject},
		{name: "an object that is not JSON is an error", in: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(`{`)}, anyErr: true},
		{name: "labels that are not a map are an error", in: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(`{"metadata":{"labels":[1]}}`)}, anyErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := FromAdmission(&tt.in)
			switch {
			case tt.anyErr && err == nil:
				t.Error("got no error")
			case !tt.anyErr && !errors.Is(err, tt.wantErr):
				t.Errorf("got error %v, want %v", err, tt.wantErr)
			}
		})
	}
}

// FuzzFromAdmission decodes whatever it is given and judges what can be
// decoded; neither may panic, and a protected object must never pass a delete
// by a person.
func FuzzFromAdmission(f *testing.F) {
	f.Add([]byte(`{"operation":"DELETE","oldObject":{"metadata":{"name":"a","labels":{"holdfast.dev/deletion-protected":"Always"}}}}`))
	f.Add([]byte(`{"operation":"UPDATE","resource":{"resource":"pods"},"object":{"metadata":{"ownerReferences":[{"uid":"x","controller":true}]}},"oldObject":{"metadata":{"labels":{"holdfast.dev/deletion-protected":"x"}}}}`))
	f.Add([]byte(`{"operation":"CREATE","resource":{"resource":"bindings"},"object":{"metadata":{"labels":{"holdfast.dev/deletion-protected":""}}}}`))
	f.Add([]byte(`{"operation":"CONNECT"}`))
	rules := defaultRules(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		var in admissionv1.AdmissionRequest
		if json.Unmarshal(data, &in) != nil {
			return
		}
		req, err := FromAdmission(&in)
		if err != nil {
			return
		}
		verdict := rules.Decide(req)
		if req.Operation != admissionv1.Delete || req.SubResource != "" || req.OldObject.DeletionTimestamp != nil || rules.machine(req) {
			return
		}
		if req.OldObject.Labels[strict] != "" && verdict.Allowed() {
			t.Errorf("a protected object passed: %s", data)
		}
	})
}
