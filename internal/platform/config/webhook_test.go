// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

const badMode = `data[config.yaml].deletion.mode: Unsupported value: "warn": supported values: "Off", "Audit", "Warn", "Enforce"`

const gone = `data[config.yaml]: Required value: the key config.yaml is gone: write the configuration there again, or, for every default, ` +
	`only "apiVersion: config.holdfast.dev/v1alpha1" and "kind: HoldfastConfiguration"`

// keys returns the ConfigMap with other keys than that of the configuration.
func keys(names ...string) *corev1.ConfigMap {
	cm := configMap()
	cm.Data = map[string]string{}
	for _, name := range names {
		cm.Data[name] = warn
	}
	return cm
}

// binary returns the ConfigMap with the document in binaryData.
func binary(document string) *corev1.ConfigMap {
	cm := configMap()
	cm.BinaryData = map[string][]byte{config.DataKey: []byte(document)}
	return cm
}

func TestLoader_Review(t *testing.T) {
	t.Parallel()
	inForce := configMap(bad)
	inForce.Labels = map[string]string{"a": "b"}
	tests := []struct {
		name   string
		before *corev1.ConfigMap
		after  *corev1.ConfigMap
		want   string
	}{
		{name: "a good one may be made", after: configMap(warn)},
		{name: "a good one may take the place of another", before: configMap(header), after: configMap(warn)},
		{name: "a good one may take the place of a bad one", before: configMap(bad), after: configMap(warn)},
		{name: "a bad one may not be made", after: configMap(bad), want: badMode},
		{name: "a bad one may not take the place of a good one", before: configMap(warn), after: configMap(bad), want: badMode},
		{name: "a bad one that stays as it was does not hinder a label", before: configMap(bad), after: inForce},
		{name: "a missing key is every default", after: configMap()},
		{name: "the key may not be taken away, which would mean every default", before: configMap(warn), after: configMap(), want: gone},
		{name: "nor that of a bad one", before: configMap(bad), after: configMap(), want: gone},
		{name: "that of an empty one may", before: configMap(header), after: configMap()},
		{name: "an empty one may take the place of any", before: configMap(warn), after: configMap(header)},
		{
			name: "another key in its place", before: configMap(warn), after: keys("config.yml", "note"),
			want: "data[config.yaml]: Required value: there is no key config.yaml, but config.yml, note: write the configuration in that key",
		},
		{name: "what is in binaryData is no text", after: binary(warn), want: "data[config.yaml]: Required value: the key config.yaml is in binaryData: write the configuration as text, in data"},
		{name: "a key that was missing does not hinder a label", before: configMap(), after: configMap()},
		{
			name: "a mistake in the document as a whole is said of the key", after: configMap(header + "---\n" + header),
			want: `data[config.yaml]: Invalid value: there is more than one YAML document: keep one, without "---" behind it`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := ""
			if test.want != "" {
				want = `ConfigMap "holdfast-config" is invalid: ` + test.want
			}
			if diff := cmp.Diff(want, message(config.Loader{}.Review(test.before, test.after))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWebhook_Handle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		request     admissionv1.AdmissionRequest
		before      *corev1.ConfigMap
		after       *corev1.ConfigMap
		wantAllowed bool
		wantCode    int32
		wantReason  metav1.StatusReason
		wantCauses  []string
	}{
		{
			name: "a bad one is refused as the API server refuses", request: about(admissionv1.Update), before: configMap(warn),
			after:    configMap(header + "deletion: {mode: warn, labels: {kruise: warn}}\n"),
			wantCode: http.StatusUnprocessableEntity, wantReason: metav1.StatusReasonInvalid,
			wantCauses: []string{"data[config.yaml].deletion.mode", "data[config.yaml].deletion.labels.kruise"},
		},
		{name: "a good one is let pass", request: about(admissionv1.Update), before: configMap(bad), after: configMap(warn), wantAllowed: true, wantCode: http.StatusOK},
		{name: "a good one may be made", request: about(admissionv1.Create), after: configMap(warn), wantAllowed: true, wantCode: http.StatusOK},
		{
			name: "a bad one may not be made", request: about(admissionv1.Create), after: configMap(bad),
			wantCode: http.StatusUnprocessableEntity, wantReason: metav1.StatusReasonInvalid, wantCauses: []string{"data[config.yaml].deletion.mode"},
		},
		{name: "deleting is let pass", request: about(admissionv1.Delete), before: configMap(warn), wantAllowed: true, wantCode: http.StatusOK},
		{
			name: "another ConfigMap is let pass", after: configMap(bad), wantAllowed: true, wantCode: http.StatusOK,
			request: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Namespace: "holdfast-system", Name: "another"},
		},
		{
			name: "the name in another namespace is let pass", after: configMap(bad), wantAllowed: true, wantCode: http.StatusOK,
			request: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Namespace: "default", Name: "holdfast-config"},
		},
		{name: "a request without its object is not understood", request: about(admissionv1.Create), wantCode: http.StatusBadRequest},
		{name: "an update without what was before is not understood", request: about(admissionv1.Update), after: configMap(warn), wantCode: http.StatusBadRequest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := test.request
			request.Object, request.OldObject = raw(t, test.after), raw(t, test.before)
			webhook := config.NewWebhook(config.Loader{}, configMapName, clientgoscheme.Scheme)
			response := webhook.Handle(t.Context(), admission.Request{AdmissionRequest: request})

			var causes []string
			if response.Result.Details != nil {
				for _, cause := range response.Result.Details.Causes {
					causes = append(causes, cause.Field)
				}
			}
			if response.Allowed != test.wantAllowed || response.Result.Code != test.wantCode || response.Result.Reason != test.wantReason {
				t.Errorf("allowed %t, code %d, reason %q: %s; want %t, %d, %q", response.Allowed, response.Result.Code,
					response.Result.Reason, response.Result.Message, test.wantAllowed, test.wantCode, test.wantReason)
			}
			if diff := cmp.Diff(test.wantCauses, causes); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// about is a request about the ConfigMap of the configuration.
func about(operation admissionv1.Operation) admissionv1.AdmissionRequest {
	return admissionv1.AdmissionRequest{Operation: operation, Namespace: configMapName.Namespace, Name: configMapName.Name}
}

func raw(t *testing.T, cm *corev1.ConfigMap) runtime.RawExtension {
	t.Helper()
	if cm == nil {
		return runtime.RawExtension{}
	}
	data, err := json.Marshal(cm)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}
