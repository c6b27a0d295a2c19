// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// newest is the version of Kubernetes whose removals of API versions count: that of the libraries.
var newest = [2]int{1, 37}

// unacceptable are the errors that the API server would return for objects, as far as that can be told without one.
func unacceptable(all []object.Declared) []*knv.Error {
	defined := versionsOf(all)
	var errs []*knv.Error
	for _, d := range all {
		gvk := d.Object.GroupVersionKind()
		say := func(code knv.Code, format string, args ...any) {
			errs = append(errs, knv.New(code, format, args...).About(knv.Declared(d)))
		}
		if gvk.GroupKind() == (schema.GroupKind{Group: configsyncv1beta1.GroupName, Kind: "RepoSync"}) {
			say(knv.UnknownKind, "Holdfast reconciles no RepoSync, so that nothing it declares would be applied: declare a RootSync whose spec.override.roleRefs are for its namespace")
		}
		if versions := defined[gvk.GroupKind()]; len(versions) > 0 && !slices.Contains(versions, gvk.Version) {
			say(knv.UnknownKind, "No CustomResourceDefinition serves %s in version %s: use %s", gvk.GroupKind(), gvk.Version, strings.Join(versions, " or "))
		}
		if since, instead := removed(gvk); since != "" {
			say(knv.UnknownKind, "Kubernetes serves no %s, Kind=%s since version %s: use %s", gvk.GroupVersion(), gvk.Kind, since, instead)
		}
		metadata := field.NewPath("metadata")
		problems := metav1validation.ValidateLabels(d.Object.GetLabels(), metadata.Child("labels"))
		for _, p := range append(problems, apivalidation.ValidateAnnotations(d.Object.GetAnnotations(), metadata.Child("annotations"))...) {
			say(knv.Applier, "The API server would refuse it: %v", p)
		}
	}
	return errs
}

// versionsOf are the versions in which the CustomResourceDefinitions among the objects serve their kinds.
func versionsOf(all []object.Declared) map[schema.GroupKind][]string {
	out := map[schema.GroupKind][]string{}
	for _, d := range all {
		if !plan.IsCRD(d.ID()) {
			continue
		}
		group, _, _ := unstructured.NestedString(d.Object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(d.Object.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(d.Object.Object, "spec", "versions")
		var served []string
		for _, v := range versions {
			v, _ := v.(map[string]any)
			if is, _ := v["served"].(bool); is {
				served = append(served, fmt.Sprint(v["name"]))
			}
		}
		out[schema.GroupKind{Group: group, Kind: kind}] = served
	}
	return out
}

// removed returns since which version of Kubernetes it does not serve a kind of its own in this version of its API, and what
// is to be used instead; empty for one that it serves, and for kinds of others.
func removed(gvk schema.GroupVersionKind) (since, instead string) {
	o, err := clientgoscheme.Scheme.New(gvk)
	if err != nil {
		return "", ""
	}
	life, is := o.(interface{ APILifecycleRemoved() (major, minor int) })
	if !is {
		return "", ""
	}
	major, minor := life.APILifecycleRemoved()
	if major == 0 || major > newest[0] || major == newest[0] && minor > newest[1] {
		return "", ""
	}
	instead = "another kind"
	if next, is := o.(interface {
		APILifecycleReplacement() schema.GroupVersionKind
	}); is {
		instead = next.APILifecycleReplacement().GroupVersion().String()
	}
	return fmt.Sprintf("%d.%d", major, minor), instead
}
