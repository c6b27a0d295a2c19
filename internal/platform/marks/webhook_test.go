// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

// review has the webhook answer an update, and returns the object that the API server would store.
func review(t *testing.T, object, old []byte) ([]byte, ctrladmission.Response) {
	t.Helper()
	response := setBack(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: old},
	}})
	if len(response.Patches) == 0 {
		return object, response
	}
	operations, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(object)
	if err != nil {
		t.Fatal(err)
	}
	return out, response
}

func TestSetBack(t *testing.T) {
	t.Parallel()
	const bound = "{holdfast.dev/marked: u, holdfast.dev/protected-by: p"
	for _, tt := range []struct{ name, old, object, want, warning string }{
		{
			name: "an operator writes the marks of its custom resource", old: bound + "}",
			object: "{app: a, holdfast.dev/marked: other, holdfast.dev/protected-by: q}", want: bound + ", app: a}",
			warning: "the labels holdfast.dev/protected-by, holdfast.dev/marked were not changed: they are marks of Holdfast",
		},
		{
			name: "an operator writes only the labels that it knows", old: bound + ", app: a}", object: "{app: b}", want: bound + ", app: b}",
			warning: "the labels holdfast.dev/protected-by, holdfast.dev/marked were not changed: they are marks of Holdfast",
		},
		{
			name: "a user adds a mark", old: bound + "}", object: bound + ", holdfast.dev/deletion-override: o}", want: bound + "}",
			warning: "the label holdfast.dev/deletion-override was not changed: it is a mark of Holdfast",
		},
		{name: "a user binds marks to an object without labels", old: "{}", object: bound + "}", want: "{}", warning: "the labels "},
		{name: "a user binds the marks of another object", old: "{holdfast.dev/marked: other}", object: bound + "}", want: "{holdfast.dev/marked: other}", warning: "the labels "},
		{name: "an empty value is not none", old: "{holdfast.dev/protected-by: ''}", object: "{}", want: "{holdfast.dev/protected-by: ''}", warning: "the label "},
		{name: "other labels are the user's", old: bound + "}", object: bound + ", app: a}", want: bound + ", app: a}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := func(labels string) []byte {
				out, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {uid: u, labels: " + labels + "}, data: {a: b}}"))
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			got, response := review(t, raw(tt.object), raw(tt.old))
			if !response.Allowed || (tt.warning == "") != (response.AuditAnnotations[auditKept] == "") || !strings.HasPrefix(strings.Join(response.Warnings, "\n"), tt.warning) || tt.warning == "" && len(response.Warnings) > 0 {
				t.Errorf("got %+v, want the warning %q", response, tt.warning)
			}
			var is, want any
			if err := json.Unmarshal(got, &is); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetBack_theAnnotationsOfMarks(t *testing.T) {
	t.Parallel()
	const bound = `"labels":{"holdfast.dev/marked":"u","holdfast.dev/protected-by":"p"}`
	for _, tt := range []struct{ name, old, object, want string }{
		{"an operator writes only the labels and annotations that it knows", `{` + bound + `,"annotations":{"holdfast.dev/protected-by":"ask dba"}}`, `{"annotations":{"a":"b"}}`,
			`{` + bound + `,"annotations":{"a":"b","holdfast.dev/protected-by":"ask dba"}}`},
		{"an operator writes none", `{` + bound + `,"annotations":{"holdfast.dev/protected-by":"ask dba"}}`, `{}`, `{` + bound + `,"annotations":{"holdfast.dev/protected-by":"ask dba"}}`},
		{"an operator copies those of its custom resource", `{` + bound + `}`, `{"annotations":{"holdfast.dev/protected-by":"q"}}`, `{` + bound + `,"annotations":{}}`},
		{"an editor empties the labels that select", `{` + bound + `,"annotations":{"holdfast.dev/protected-by-labels":"app"}}`, `{` + bound + `,"annotations":{"holdfast.dev/protected-by-labels":"","a":"b"}}`,
			`{` + bound + `,"annotations":{"a":"b","holdfast.dev/protected-by-labels":"app"}}`},
		{"an editor says which labels select", `{` + bound + `}`, `{` + bound + `,"annotations":{"holdfast.dev/protected-while-used-by-labels":"app"}}`, `{` + bound + `,"annotations":{}}`},
		{"the update leaves the labels as they are", `{` + bound + `,"annotations":{"holdfast.dev/protected-by":"ask dba"}}`, `{` + bound + `}`, `{` + bound + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _ := review(t, []byte(`{"metadata":`+tt.object+`}`), []byte(`{"metadata":`+tt.old+`}`))
			var is, want any
			if err := errors.Join(json.Unmarshal(got, &is), json.Unmarshal([]byte(`{"metadata":`+tt.want+`}`), &want)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

// The webhook restores the marks of any update, and changes nothing else.
func FuzzSetBack(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"holdfast.dev/marked":"u","app":"a"}}}`), []byte(`{"metadata":{"labels":{"holdfast.dev/protected-by":"p"}}}`))
	f.Add([]byte(`{"metadata":{"labels":null},"spec":{"n":1.5}}`), []byte(`{}`))
	f.Add([]byte(`{"metadata":{"annotations":{"holdfast.dev/protected-by-labels":""}}}`), []byte(`{"metadata":{"annotations":{"holdfast.dev/protected-by-labels":"app"}}}`))
	f.Add([]byte(`{"metadata":7}`), []byte(`{"metadata":{"labels":[]}}`))
	f.Add([]byte(`null`), []byte(``))
	f.Fuzz(func(t *testing.T, object, old []byte) {
		var sent, stored, is metav1.PartialObjectMetadata
		if json.Unmarshal(object, &sent) != nil || json.Unmarshal(old, &stored) != nil {
			setBack(t.Context(), ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: old},
			}}) // it must not panic; the API server sends objects
			return
		}
		got, response := review(t, object, old)
		if !response.Allowed {
			return
		}
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatal(err)
		}
		kept := func(keys []string, sent, stored map[string]string) map[string]string {
			want := map[string]string{}
			maps.Copy(want, sent)
			for _, key := range keys {
				delete(want, key)
				if value, ok := stored[key]; ok {
					want[key] = value
				}
			}
			return want
		}
		want := kept(keys, sent.Labels, stored.Labels)
		if diff := cmp.Diff(want, is.Labels, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		annotations := kept(guarded, sent.Annotations, stored.Annotations)
		if !cmp.Equal(want, sent.Labels, cmpopts.EquateEmpty()) {
			annotations = kept(keys, annotations, stored.Annotations)
		}
		if diff := cmp.Diff(annotations, is.Annotations, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		is.Labels, sent.Labels, is.Annotations, sent.Annotations = nil, nil, nil, nil
		if diff := cmp.Diff(sent, is); diff != "" {
			t.Errorf("the rest (-want +got):\n%s", diff)
		}
	})
}
