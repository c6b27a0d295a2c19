// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// absent says that an object is not there, and none that a part of it is not.
	absent = "no"
	none   = "-"
)

func text(m map[string]string, key string) string {
	if v, found := m[key]; found {
		return v
	}
	return none
}

// field reads one by its path.
func field(u *unstructured.Unstructured, path string) string {
	v, found, err := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return none
	}
	return fmt.Sprint(v)
}

// hierarchy is the HierarchyConfiguration of a namespace; an empty one if there is
// none.
func (r *rig) hierarchy(ns string) *hncv1alpha2.HierarchyConfiguration {
	r.t.Helper()
	out := &hncv1alpha2.HierarchyConfiguration{}
	if u := r.get("hc", ns); u != nil {
		r.into(u, out)
	}
	return out
}

func (r *rig) into(u *unstructured.Unstructured, out any) {
	r.t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		r.t.Fatal(err)
	}
}

// all are the objects of a kind and a name in the namespaces of the test.
func (r *rig) all(kind, name string) []unstructured.Unstructured {
	r.t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(r.gvk(kind))
	var options []client.ListOption
	if name != "" {
		options = append(options, client.MatchingFields{"metadata.name": r.long(name)})
	}
	if err := r.Client.List(r.t.Context(), l, options...); err != nil {
		r.t.Fatalf("list %s: %v", kind, err)
	}
	return slices.DeleteFunc(l.Items, func(u unstructured.Unstructured) bool {
		return !strings.HasPrefix(u.GetNamespace(), r.prefix+"-") && u.GetNamespace() != "excluded"
	})
}

// copies are where objects of a kind and a name are: "a" for one that is no copy,
// "b<a" for a copy of that in a.
func (r *rig) copies(kind, name string) []string {
	r.t.Helper()
	var out []string
	for _, u := range r.all(kind, name) {
		at := strings.TrimPrefix(u.GetNamespace(), r.prefix+"-")
		if from, is := u.GetLabels()[hncv1alpha2.LabelInheritedFrom]; is {
			at += "<" + strings.TrimPrefix(from, r.prefix+"-")
		}
		out = append(out, at)
	}
	slices.Sort(out)
	return out
}

// completion is the condition of a namespace that says whether all is copied.
func (r *rig) completion(ns string) string {
	r.t.Helper()
	u := r.get("ns", ns)
	if u == nil {
		return absent
	}
	n := &corev1.Namespace{}
	r.into(u, n)
	for _, c := range n.Status.Conditions {
		if c.Type == v1alpha1.ConditionPropagationComplete {
			return string(c.Status) + " " + c.Reason
		}
	}
	return none
}
