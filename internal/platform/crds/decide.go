// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	kubeversion "k8s.io/apimachinery/pkg/version"
)

// VersionAnnotation says which Holdfast has written the CustomResourceDefinition last.
const VersionAnnotation = "holdfast.dev/written-by-version"

// Decision is what is to be done about a CustomResourceDefinition.
type Decision struct {
	// Apply is what to apply; nil if it can stay as it is.
	Apply *unstructured.Unstructured
	// DropConversion says that the webhook by which somebody else converts between
	// versions has to go first: an apply cannot take away what others own.
	DropConversion bool
	// Newer says why it stays although it is not as wanted.
	Newer string
}

// Decide holds what the API server has, or nil, against what this version of Holdfast
// wants. It has no doubts about what covers the wanted schema: a later one does, and so
// does one that somebody has applied by hand.
func Decide(live, wanted *unstructured.Unstructured, running string) Decision {
	if live == nil {
		return Decision{Apply: applied(nil, wanted, running)}
	}
	order, known := compare(live.GetAnnotations()[VersionAnnotation], running)
	switch {
	case known && order > 0:
		return Decision{Newer: "it was written by Holdfast " + live.GetAnnotations()[VersionAnnotation]}
	case laterStorage(live, wanted) != "":
		return Decision{Newer: "its objects are stored as " + laterStorage(live, wanted) + ", which this version does not know"}
	case (!known || order == 0) && !converts(live) && covers(spec(live), spec(wanted)):
		return Decision{}
	}
	return Decision{Apply: applied(live, wanted, running), DropConversion: converts(live)}
}

// applied is what is applied: the schema and what identifies it. Versions that objects
// may still be stored in stay, because the API server demands it, and are not served.
func applied(live, wanted *unstructured.Unstructured, running string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": wanted.GetAPIVersion(), "kind": wanted.GetKind(), "spec": runtime.DeepCopyJSON(spec(wanted)),
	}}
	out.SetName(wanted.GetName())
	out.SetAnnotations(map[string]string{VersionAnnotation: running})
	if live == nil {
		return out
	}
	specOut := spec(out)
	if old, _ := spec(live)["preserveUnknownFields"].(bool); old {
		specOut["preserveUnknownFields"] = false
	}
	stored, _, _ := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	list, _ := specOut["versions"].([]any)
	for _, v := range versions(live) {
		name, _ := v["name"].(string)
		if slices.Contains(stored, name) && find(wanted, name) == nil {
			kept := runtime.DeepCopyJSON(v)
			kept["served"], kept["storage"] = false, false
			list = append(list, kept)
		}
	}
	specOut["versions"] = list
	return out
}

// laterStorage is the version that objects are stored in, if it is one that comes after
// all that are wanted.
func laterStorage(live, wanted *unstructured.Unstructured) string {
	for _, v := range versions(live) {
		name, _ := v["name"].(string)
		if storage, _ := v["storage"].(bool); !storage || find(wanted, name) != nil {
			continue
		}
		if !slices.ContainsFunc(versions(wanted), func(w map[string]any) bool {
			other, _ := w["name"].(string)
			return kubeversion.CompareKubeAwareVersionStrings(name, other) < 0
		}) {
			return name
		}
	}
	return ""
}

// covers says whether everything wanted is there. There may be more, as in a later
// version: of descriptions nothing depends.
func covers(live, wanted any) bool {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		return ok && coversFields(l, w)
	case []any:
		l, ok := live.([]any)
		missing := func(value any) bool {
			return !slices.ContainsFunc(l, func(other any) bool { return covers(other, value) })
		}
		return (ok || live == nil) && !slices.ContainsFunc(w, missing)
	case nil:
		return true
	default: // the API server may have left out what is zero
		return live == wanted || live == nil && reflect.ValueOf(wanted).IsZero()
	}
}

func coversFields(live, wanted map[string]any) bool {
	for key, value := range wanted {
		if _, isText := value.(string); isText && key == "description" {
			continue
		}
		if !covers(live[key], value) {
			return false
		}
	}
	return true
}

// converts says whether a webhook converts between versions.
func converts(live *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(live.Object, "spec", "conversion", "strategy")
	return strategy == "Webhook"
}

// compare two versions of Holdfast; known is false where one cannot be read.
func compare(written, running string) (order int, known bool) {
	a, err := version.ParseSemantic(written)
	if err != nil {
		return 0, false
	}
	order, err = a.Compare(running)
	return order, err == nil
}

func spec(crd *unstructured.Unstructured) map[string]any {
	out, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec")
	fields, _ := out.(map[string]any)
	return fields
}

func versions(crd *unstructured.Unstructured) []map[string]any {
	list, _ := spec(crd)["versions"].([]any)
	out := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if fields, ok := v.(map[string]any); ok {
			out = append(out, fields)
		}
	}
	return out
}

func find(crd *unstructured.Unstructured, name string) map[string]any {
	for _, v := range versions(crd) {
		if v["name"] == name {
			return v
		}
	}
	return nil
}
