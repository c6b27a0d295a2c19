// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
)

// definitions describe the kind and all that it consists of. Field management needs them, and so does
// kubectl before it applies anything.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	object, list, content := Flunder{}.OpenAPIModelName(), FlunderList{}.OpenAPIModelName(), FlunderSpec{}.OpenAPIModelName()
	objectMeta, listMeta := metav1.ObjectMeta{}.OpenAPIModelName(), metav1.ListMeta{}.OpenAPIModelName()
	to := func(name string) spec.Schema { return spec.Schema{SchemaProps: spec.SchemaProps{Ref: ref(name)}} }
	item := to(object)

	all := generated.GetOpenAPIDefinitions(ref)
	maps.Copy(all, map[string]common.OpenAPIDefinition{
		object: describe(map[string]spec.Schema{
			"apiVersion": *spec.StringProperty(),
			"kind":       *spec.StringProperty(),
			"metadata":   to(objectMeta),
			"spec":       to(content),
		}, objectMeta, content),
		list: describe(map[string]spec.Schema{
			"apiVersion": *spec.StringProperty(),
			"kind":       *spec.StringProperty(),
			"metadata":   to(listMeta),
			"items":      *spec.ArrayProperty(&item),
		}, listMeta, object),
		content: describe(map[string]spec.Schema{"text": *spec.StringProperty()}),
	})
	return all
}

// describe returns the definition of a type with these fields, which refer to other definitions.
func describe(fields map[string]spec.Schema, others ...string) common.OpenAPIDefinition {
	return common.OpenAPIDefinition{
		Schema:       spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: fields}},
		Dependencies: others,
	}
}
