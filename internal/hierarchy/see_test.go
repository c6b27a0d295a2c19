// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// absent says that an object is not there, and none that a part of it is not.
	absent = "no"
	none   = "-"
)

// sights are what can be seen.
var sights = map[string]func(r *rig, args []string) string{
	// labels c: a=1 c=0     the depths in the tree labels of a namespace
	"labels": func(r *rig, args []string) string {
		u := r.get("ns", args[0])
		if u == nil {
			return absent
		}
		var out []string
		for key, depth := range u.GetLabels() {
			if above, is := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix); is {
				out = append(out, r.short(above)+"="+depth)
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	},
	// label ns a KEY: value
	"label": func(r *rig, args []string) string {
		u := r.get(args[0], args[1])
		if u == nil {
			return absent
		}
		return text(u.GetLabels(), r.long(args[2]))
	},
	// annotation ns a KEY: value
	"annotation": func(r *rig, args []string) string {
		u := r.get(args[0], args[1])
		if u == nil {
			return absent
		}
		return text(u.GetAnnotations(), r.long(args[2]))
	},
	// children a: b c       as the HierarchyConfiguration says
	"children": func(r *rig, args []string) string {
		return strings.Join(r.hierarchy(args[0]).Status.Children, " ")
	},
	// problems b: ActivitiesHalted/ParentMissing    its conditions
	"problems": func(r *rig, args []string) string {
		var out []string
		for _, c := range r.hierarchy(args[0]).Status.Conditions {
			out = append(out, c.Type+"/"+c.Reason)
		}
		return strings.Join(out, " ")
	},
	// message b ParentMissing: text of the condition
	"message": func(r *rig, args []string) string {
		for _, c := range r.hierarchy(args[0]).Status.Conditions {
			if c.Reason == args[1] {
				return c.Message
			}
		}
		return none
	},
	// copies cm x: a b<a    where an object of the name is, and from where
	"copies": func(r *rig, args []string) string { return strings.Join(r.copies(args[0], args[1]), " ") },
	// anchor a/s: Ok        its state
	"anchor": func(r *rig, args []string) string {
		u := r.get("anchor", args[0])
		if u == nil {
			return absent
		}
		return field(u, "status.status")
	},
	// finalizers hc a: hnc.x-k8s.io/hasSubnamespace
	"finalizers": func(r *rig, args []string) string {
		u := r.get(args[0], args[1])
		if u == nil {
			return absent
		}
		return strings.Join(u.GetFinalizers(), " ")
	},
	// field cm a/x data.v: 1
	"field": func(r *rig, args []string) string {
		u := r.get(args[0], args[1])
		if u == nil {
			return absent
		}
		return field(u, args[2])
	},
	// there ns s: yes       or no, or going while it is being deleted
	"there": func(r *rig, args []string) string {
		switch u := r.get(args[0], args[1]); {
		case u == nil:
			return absent
		case u.GetDeletionTimestamp() != nil:
			return "going"
		}
		return "yes"
	},
	// counts things: Propagate, 2 copies, 1 sources     as the HNCConfiguration says
	"counts": func(r *rig, args []string) string { return r.counts(args[0]) },
	// problem ResourceNotFound: text     the part of it that is about the test, or about an argument
	"problem": func(r *rig, args []string) string {
		about := r.prefix
		if len(args) > 1 {
			about = r.long(args[1])
		}
		return r.part(hncv1alpha2.ConditionBadConfiguration, args[0], about)
	},
	// unsynced things: yes  a kind that cannot be watched
	"unsynced": func(r *rig, args []string) string {
		if r.part(hncv1alpha2.ConditionOutOfSync, hncv1alpha2.ReasonUnknown, args[0]+"."+r.group()) == none {
			return absent
		}
		return "yes"
	},
	// lacking things: create   the verbs that the HNCConfiguration says Holdfast lacks
	"lacking": func(r *rig, args []string) string {
		of := " " + args[0] + "." + r.group() + ", so these are not copied"
		_, text, _ := strings.Cut(r.part(hncv1alpha2.ConditionOutOfSync, hncv1alpha2.ReasonUnknown, of), " may not ")
		verbs, _, found := strings.Cut(text, of)
		if !found {
			return none
		}
		return verbs
	},
	// events cm a/x: CannotPropagateObject     the reasons of warnings about it
	"events": func(r *rig, args []string) string { return r.events(args[0], args[1]) },
	// guarded cm b/x: yes   whether people are refused to change it
	"guarded": func(r *rig, args []string) string { return r.guarded(args[0], args[1]) },
	// complete b: True Copied     the condition of a namespace
	"complete": func(r *rig, args []string) string { return r.completion(args[0]) },
}

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

// guarded says whether the API server refuses people a change, without making it.
func (r *rig) guarded(kind, at string) string {
	r.t.Helper()
	by := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"hand"}}}`))
	switch err := r.Client.Patch(r.t.Context(), r.object(kind, at), by, client.DryRunAll); {
	case err == nil:
		return absent
	case apierrors.IsForbidden(err):
		return "yes"
	default:
		return err.Error()
	}
}

// events are the reasons of the warnings of Holdfast about an object.
func (r *rig) events(kind, at string) string {
	r.t.Helper()
	o := r.object(kind, at)
	l := &eventsv1.EventList{}
	if err := r.Client.List(r.t.Context(), l, client.InNamespace(o.GetNamespace())); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, e := range l.Items {
		if e.Regarding.Kind == o.GetKind() && e.Regarding.Name == o.GetName() && e.ReportingController == hncv1alpha2.EventSource && e.Type == corev1.EventTypeWarning {
			out = append(out, e.Reason)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}
