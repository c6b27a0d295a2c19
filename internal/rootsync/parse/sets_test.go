// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const pumps = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pumps.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: pumps, kind: Pump}}
---
`

const pump = "apiVersion: example.com/v1\nkind: Pump\nmetadata: {name: a}\n---\n"

func TestCRDsInUse(t *testing.T) {
	t.Parallel()
	cluster := served{"Pump.example.com": true, "CustomResourceDefinition.apiextensions.k8s.io": false}
	objects := func(text string) []object.Declared {
		r := Parse(files(text), cluster)
		if len(r.Errors) > 0 {
			t.Fatal(r.Errors)
		}
		return r.Objects
	}
	former := Defines(objects(pumps + pump))
	if diff := cmp.Diff([]schema.GroupKind{{Group: "example.com", Kind: "Pump"}}, former); diff != "" {
		t.Fatal(diff)
	}
	tests := []struct {
		name string
		now  string
		want []string
	}{
		{"both stay", pumps + pump, nil},
		{"both go", "", nil},
		{"the object goes", pumps, nil},
		{"the CRD goes and the object stays", pump, []string{"1047 a.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, codes(CRDsInUse(former, objects(tt.now)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeclares(t *testing.T) {
	t.Parallel()
	objects := Parse(files("apiVersion: configsync.gke.io/v1alpha1\nkind: RootSync\nmetadata: {name: a, namespace: config-management-system}\n"), cluster).Objects
	if err := Declares(objects, "b"); err != nil {
		t.Error("another RootSync is no fault:", err)
	}
	err := Declares(objects, "a")
	if err == nil || !strings.Contains(err.Error(), "KNV1069: RootSync config-management-system/a must not manage itself in its repo") {
		t.Error(err)
	}
}
