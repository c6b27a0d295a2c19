// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// shape refuses what cannot be read as an object at all.
func shape(doc map[string]any, file string) *knv.Error {
	kind, _ := doc["kind"].(string)
	version, _ := doc["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(version)
	meta, isMap := doc["metadata"].(map[string]any)
	about := knv.Resource{Path: file, GVK: gv.WithKind(kind)}
	about.Name, _ = meta["name"].(string)
	about.Namespace, _ = meta["namespace"].(string)
	fail := func(code knv.Code, format string, args ...any) *knv.Error {
		return knv.New(code, format, args...).About(about)
	}
	switch {
	case kind == "" || version == "" || err != nil:
		return fail(knv.Parse, "%s has something that is no object of Kubernetes: apiVersion and kind are needed. "+
			"Add them, or keep files that are for other tools out of the directory that is synced", file)
	case doc["metadata"] != nil && !isMap:
		return fail(knv.Parse, "metadata is no map of fields")
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if value, has := meta[field]; has && value != nil && !isString(value) {
			return fail(knv.Parse, "metadata.%s is no text: put %v into quotes", field, value)
		}
	}
	for _, field := range []string{"annotations", "labels"} {
		if bad := notTexts(meta[field]); bad != "" {
			return fail(knv.InvalidAnnotation, "metadata.%s must be a map of texts: put the value of %s into quotes", field, bad)
		}
	}
	return nil
}

func isString(value any) bool {
	_, is := value.(string)
	return is
}

// notTexts names what is wrong in a map that is to have texts for its values.
func notTexts(field any) string {
	m, isMap := field.(map[string]any)
	if field != nil && !isMap {
		return "the field"
	}
	var bad []string
	for key, value := range m {
		if !isString(value) {
			bad = append(bad, key)
		}
	}
	slices.Sort(bad)
	return strings.Join(bad, ", ")
}

// check is everything that can be said of one object without the others.
func check(d object.Declared) []*knv.Error {
	var errs []*knv.Error
	for _, rule := range []func(*unstructured.Unstructured) []*knv.Error{
		annotations, labels, managed, lifecycle, name, namespace, kinds, fields, crd,
	} {
		for _, err := range rule(d.Object) {
			errs = append(errs, err.About(knv.Declared(d)))
		}
	}
	return errs
}

func one(code knv.Code, format string, args ...any) []*knv.Error {
	return []*knv.Error{knv.New(code, format, args...)}
}

// name asks for what the API server would ask for, and a name at all: Config Sync has
// no use for generated ones.
func name(o *unstructured.Unstructured) []*knv.Error {
	var problems []string
	switch {
	case o.GetName() == "":
		return one(knv.MissingName, "metadata.name is missing: an object of a source needs one, and metadata.generateName is not enough")
	case o.GroupVersionKind().Group == "rbac.authorization.k8s.io":
		problems = content.IsPathSegmentName(o.GetName())
	case isNamespace(o):
		problems = validation.IsDNS1123Label(o.GetName())
	default:
		problems = validation.IsDNS1123Subdomain(o.GetName())
	}
	if len(problems) == 0 {
		return nil
	}
	return one(knv.InvalidName, "metadata.name %q cannot be: %s", o.GetName(), strings.Join(problems, "; "))
}

func namespace(o *unstructured.Unstructured) []*knv.Error {
	if isNamespace(o) && o.GetName() == object.SyncNamespace {
		return one(knv.IllegalNamespace, "The %q Namespace must not be declared: it belongs to the RootSyncs themselves. Remove it from the source", object.SyncNamespace)
	}
	if problems := validation.IsDNS1123Label(o.GetNamespace()); o.GetNamespace() != "" && len(problems) > 0 {
		return one(knv.InvalidName, "metadata.namespace %q cannot be: %s", o.GetNamespace(), strings.Join(problems, "; "))
	}
	return nil
}

func isNamespace(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// reserved are the groups whose CRDs come with Holdfast, as with Config Sync.
var reserved = []string{"configmanagement.gke.io", "configsync.gke.io"}

// notBuilt are kinds that Config Sync reads from a source and does not apply.
var notBuilt = map[schema.GroupKind]string{
	{Group: "configmanagement.gke.io", Kind: "HierarchyConfig"}: "it is of the hierarchy format, and the source is unstructured",
	{Group: "configmanagement.gke.io", Kind: "Repo"}:            "it is of the hierarchy format, and the source is unstructured",
	{Group: "configmanagement.gke.io", Kind: "Sync"}:            "Config Sync makes it and nobody declares it",
}

func kinds(o *unstructured.Unstructured) []*knv.Error {
	gk := o.GroupVersionKind().GroupKind()
	if why, is := notBuilt[gk]; is {
		return one(knv.UnsupportedKind, "%s cannot be declared: %s. Remove it from the source", gk, why)
	}
	if group, _, _ := unstructured.NestedString(o.Object, "spec", "group"); isCRD(o) && slices.Contains(reserved, group) {
		return one(knv.UnsupportedKind, "The CustomResourceDefinition of a kind of Config Sync cannot be declared: it is installed with Holdfast. Remove it from the source")
	}
	return nil
}

// written are the fields that the API server or a controller writes.
var written = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

func fields(o *unstructured.Unstructured) []*knv.Error {
	var errs []*knv.Error
	fail := func(field string) {
		errs = append(errs, knv.New(knv.IllegalField, "A source must not declare the field %s: it is written in the cluster. Remove it", field))
	}
	meta, _ := o.Object["metadata"].(map[string]any)
	for _, field := range written {
		if !isZero(meta[field]) {
			fail("metadata." + field)
		}
		// What is there and says nothing would be owned all the same.
		delete(meta, field)
	}
	if o.Object["status"] != nil {
		fail("status")
	}
	return errs
}

func isZero(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func isCRD(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

func crd(o *unstructured.Unstructured) []*knv.Error {
	if !isCRD(o) {
		return nil
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
	if want := fmt.Sprintf("%s.%s", plural, group); o.GetName() != "" && o.GetName() != want {
		return one(knv.InvalidCRDName, "The name %q of the CustomResourceDefinition must be that of its spec.names.plural and its spec.group: change it, or the fields, so that it is %q", o.GetName(), want)
	}
	return nil
}
