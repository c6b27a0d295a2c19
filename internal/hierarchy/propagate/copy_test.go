// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func source() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
		"data":   map[string]any{"k": "dg=="},
		"status": map[string]any{"phase": "x"},
		"metadata": map[string]any{
			"name": "x", "namespace": "a", "uid": "1", "resourceVersion": "2", "generateName": "x-", "generation": int64(3),
			"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []any{map[string]any{"manager": "me"}},
			"ownerReferences": []any{map[string]any{"name": "o"}}, "finalizers": []any{"f"}, "selfLink": "/x",
			"labels": map[string]any{
				"app": "shop", "app.kubernetes.io/managed-by": "Helm", "argocd": "mine",
				"hnc.x-k8s.io/inherited-from": "elsewhere", "other.hnc.x-k8s.io/x": "y",
				"holdfast.dev/deletion-protected": "Always", "holdfast.dev/marked": "true", "resourcetemplate.karmada.io/deletion-protected": "Always",
				"policy.kruise.io/delete-protection": "Always",
			},
			"annotations": map[string]any{
				"note": "n", "holdfast.dev/protected-by": "x", "configmanagement": "enabled", "propagate.hnc.x-k8s.io/all": "true",
			},
		},
	}}
}

func TestCopied_keepsContentAndNameAndLabels(t *testing.T) {
	t.Parallel()
	r := Rules{StripLabels: map[string]bool{"argocd": true}, StripAnnotations: map[string]bool{"configmanagement": true}}
	from := source()
	want := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
		"data": map[string]any{"k": "dg=="},
		"metadata": map[string]any{
			"name": "x", "namespace": "b",
			"labels": map[string]any{
				"app": "shop", "app.kubernetes.io/managed-by": "hnc.x-k8s.io", "hnc.x-k8s.io/inherited-from": "a",
			},
			"annotations": map[string]any{"note": "n"},
		},
	}
	got := r.Copied(from, "b")
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Object["data"].(map[string]any)["k"] = "other"
	if diff := cmp.Diff(source().Object, from.Object); diff != "" {
		t.Errorf("the source changed (-want +got):\n%s", diff)
	}
}

func TestCopied_withoutLabelsAndAnnotations(t *testing.T) {
	t.Parallel()
	from := &unstructured.Unstructured{Object: map[string]any{"kind": "Role", "metadata": map[string]any{"name": "x", "namespace": "a"}}}
	want := map[string]any{"kind": "Role", "metadata": map[string]any{
		"name": "x", "namespace": "b", "labels": map[string]any{"app.kubernetes.io/managed-by": "hnc.x-k8s.io", "hnc.x-k8s.io/inherited-from": "a"},
	}}
	if diff := cmp.Diff(want, Rules{}.Copied(from, "b").Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUpToDate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(have *unstructured.Unstructured)
		want   bool
	}{
		{"as it was made", func(*unstructured.Unstructured) {}, true},
		{"with what the API server adds", func(u *unstructured.Unstructured) { u.SetUID("9"); u.SetResourceVersion("8"); u.SetGeneration(2) }, true},
		{"with a status", func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"phase": "y"} }, true},
		{"with other content", func(u *unstructured.Unstructured) { u.Object["data"] = map[string]any{"k": "eA=="} }, false},
		{"with less content", func(u *unstructured.Unstructured) { delete(u.Object, "immutable") }, false},
		{"with a label more", func(u *unstructured.Unstructured) { u.SetLabels(more(u.GetLabels(), "x", "y")) }, false},
		{"with an annotation more", func(u *unstructured.Unstructured) { u.SetAnnotations(more(u.GetAnnotations(), "x", "y")) }, false},
		{"with a mark", func(u *unstructured.Unstructured) { u.SetLabels(more(u.GetLabels(), "holdfast.dev/marked", "true")) }, true},
		{"with a note on a mark", func(u *unstructured.Unstructured) {
			u.SetAnnotations(more(u.GetAnnotations(), "holdfast.dev/protected-by", "x"))
		}, true},
		{"with protection that HNC has copied", func(u *unstructured.Unstructured) {
			u.SetLabels(more(u.GetLabels(), "resourcetemplate.karmada.io/deletion-protected", "Always"))
		}, true},
		{"without its annotation", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) }, false},
		{"of another source", func(u *unstructured.Unstructured) {
			u.SetLabels(more(u.GetLabels(), "hnc.x-k8s.io/inherited-from", "z"))
		}, false},
		{"without a source", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"app": "shop"}) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			copied := Rules{}.Copied(source(), "b")
			have := copied.DeepCopy()
			tt.change(have)
			if got := UpToDate(have, copied); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func more(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// A digest says the same as a look at both.
func TestDigest(t *testing.T) {
	t.Parallel()
	rules := Rules{StripLabels: map[string]bool{"strip": true}}
	source := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: up, labels: {strip: x, keep: z, app.kubernetes.io/managed-by: helm},
		annotations: {deployment.kubernetes.io/revision: "3", propagate.hnc.x-k8s.io/all: "true"}}, data: {k: v}}`)
	want, err := rules.Digest(source)
	if err != nil {
		t.Fatal(err)
	}
	const labels = `labels: {keep: z, app.kubernetes.io/managed-by: hnc.x-k8s.io, hnc.x-k8s.io/inherited-from: up}`
	for _, tt := range []struct {
		name, have string
		same       bool
	}{
		{name: "the copy has the digest of its source", have: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: down, uid: x, ` + labels + `}, data: {k: v}}`, same: true},
		{name: "what controllers note on it does not count", have: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: down, ` + labels + `, annotations: {deployment.kubernetes.io/revision: "1"}}, data: {k: v}, status: {a: b}}`, same: true},
		{name: "its content does", have: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: down, ` + labels + `}, data: {k: w}}`},
		{name: "its labels do", have: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: down, labels: {keep: z, hnc.x-k8s.io/inherited-from: up}}, data: {k: v}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			have := parsed(t, tt.have)
			got, err := DigestOf(have)
			if err != nil {
				t.Fatal(err)
			}
			if same := got == want; same != tt.same || UpToDate(have, rules.Copied(source, "down")) != tt.same {
				t.Errorf("same: %t, want %t", same, tt.same)
			}
		})
	}
}

func parsed(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// What a template makes is what Copied does.
func TestTemplate(t *testing.T) {
	t.Parallel()
	r := Rules{StripLabels: map[string]bool{"argocd": true}}
	from := source()
	template, err := r.NewTemplate(from)
	if err != nil {
		t.Fatal(err)
	}
	have := parsed(t, `{metadata: {name: x, namespace: b, uid: "7", resourceVersion: "8", finalizers: [f], ownerReferences: [{name: o, kind: k, apiVersion: v, uid: u}],
		labels: {theirs: z, holdfast.dev/marked: m}, annotations: {theirs: z, deployment.kubernetes.io/revision: "4", holdfast.dev/protected-by: p}}}`)
	over := r.Copied(from, "")
	over.SetUID("7")
	over.SetResourceVersion("8")
	over.SetFinalizers(have.GetFinalizers())
	over.SetOwnerReferences(have.GetOwnerReferences())
	annotations := over.GetAnnotations()
	annotations["deployment.kubernetes.io/revision"] = "4"
	annotations["holdfast.dev/protected-by"] = "p"
	over.SetAnnotations(annotations)
	over.SetLabels(more(over.GetLabels(), "holdfast.dev/marked", "m"))
	over.Object["status"] = map[string]any{"a": "b"}
	trial := r.Copied(from, "")
	trial.SetName("")
	trial.SetGenerateName("holdfast-trial-")
	for _, tt := range []struct {
		name string
		make func() ([]byte, error)
		want *unstructured.Unstructured
	}{
		{name: "a new copy", make: template.Copy, want: r.Copied(from, "")},
		{name: "one over what is there", make: func() ([]byte, error) { return template.Over(have, map[string]any{"a": "b"}) }, want: over},
		{name: "a trial", make: template.Trial, want: trial},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, err := tt.make()
			if err != nil {
				t.Fatal(err)
			}
			got := &unstructured.Unstructured{}
			if err := got.UnmarshalJSON(body); err != nil {
				t.Fatal(err)
			}
			unstructured.RemoveNestedField(got.Object, "metadata", "creationTimestamp")
			unstructured.RemoveNestedField(tt.want.Object, "metadata", "namespace")
			if diff := cmp.Diff(tt.want.Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
