// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// In protobuf there is all that is in JSON, or there is no protobuf.
func TestInProtobuf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, source string
		none         bool
	}{
		{name: "a Role", source: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: x, labels: {a: b}, annotations: {c: d}}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
		{name: "a Secret", source: `{apiVersion: v1, kind: Secret, metadata: {name: x}, type: Opaque, immutable: true, data: {k: dg==}}`},
		{name: "a NetworkPolicy", source: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: {}, ingress: [{ports: [{port: http}]}], policyTypes: [Ingress]}}`},
		{name: "a LimitRange", source: `{apiVersion: v1, kind: LimitRange, metadata: {name: x}, spec: {limits: [{type: Container, max: {cpu: "1500m", memory: 1Gi}}]}}`},
		{name: "a kind that somebody has defined", source: `{apiVersion: example.com/v1, kind: Widget, metadata: {name: x}, spec: {a: b}}`, none: true},
		{name: "a field of a newer Kubernetes", source: `{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {k: dg==}, sealed: true}`, none: true},
		{name: "a field deep in a newer Kubernetes", source: `{apiVersion: v1, kind: LimitRange, metadata: {name: x}, spec: {limits: [{type: Container, least: {cpu: "1"}}]}}`, none: true},
		{name: "a value of another type", source: `{apiVersion: v1, kind: Secret, metadata: {name: x}, immutable: "yes"}`, none: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tt.source), &from.Object); err != nil {
				t.Fatal(err)
			}
			body := inProtobuf(from)
			if tt.none || body == nil {
				if (body == nil) != tt.none {
					t.Errorf("got %q", body)
				}
				return
			}
			o, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(from.Object, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
