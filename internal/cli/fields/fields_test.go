// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// entries reads managedFields.
func entries(t *testing.T, text string) []metav1.ManagedFieldsEntry {
	t.Helper()
	var out []metav1.ManagedFieldsEntry
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestManagers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, fields string
		want         []string
	}{
		{"fields of the kind", `{"f:spec": {".": {}, "f:replicas": {}, "f:template": {"f:spec": {"f:hostNetwork": {}}}}}`, []string{"spec.replicas", "spec.template.spec.hostNetwork"}},
		{"labels, with and without dots", `{"f:metadata": {"f:labels": {"f:team": {}, "f:app.kubernetes.io/name": {}}}}`, []string{"metadata.labels[app.kubernetes.io/name]", "metadata.labels[team]"}},
		{"keys of a ConfigMap", `{"f:data": {"f:menu": {}}}`, []string{"data[menu]"}},
		{"one of a list by its key", `{"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}`, []string{"spec.containers[name=web].image"}},
		{"one of a list by two keys", `{"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:name": {}}}}}`, []string{"spec.ports[port=80,protocol=TCP].name"}},
		{"one of a set", `{"f:metadata": {"f:finalizers": {'v:"a/b"': {}}}}`, []string{"metadata.finalizers[=a/b]"}},
		{"one of a list by its place", `{"f:spec": {"f:list": {'i:1': {}}}}`, []string{"spec.list[1]"}},
		{"a field that has dots", `{"f:spec": {"f:a.b": {}}}`, []string{"spec[a.b]"}},
		{"nothing", `{}`, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Managers(entries(t, `[{manager: m, operation: Apply, fieldsType: FieldsV1, fieldsV1: `+tt.fields+`}]`))
			if diff := cmp.Diff([]Manager{{Name: "m", Operation: "Apply", Fields: tt.want}}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestManagers_order(t *testing.T) {
	t.Parallel()
	got := Managers(entries(t, `
- {manager: b, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}
- {manager: b, operation: Update}
- {manager: a, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"k:": {}}}`))
	heads := make([]string, len(got))
	for i, m := range got {
		heads[i] = m.Head() + ": " + m.Summary(1)
	}
	want := []string{heads[0], "b (Update): ", "b (Update of status): status"}
	if got[0].Problem == "" {
		t.Errorf("fields that nobody can read are no problem: %+v", got[0])
	}
	if diff := cmp.Diff(want, heads); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestManager_summary(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fields []string
		want   string
	}{
		{"few", []string{"spec.a", "spec.b"}, "spec.a, spec.b"},
		{"many", []string{"metadata.labels[a]", "metadata.labels[b]", "metadata.annotations[x.y/z]", "spec.a", "status.b", "status.c"}, "metadata.labels (2), metadata.annotations[x.y/z], spec.a, status (2)"},
		{"keys", []string{"data[a]", "data[b]", "data[c]"}, "data (3)"},
		{"none", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (Manager{Fields: tt.fields}).Summary(2); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
