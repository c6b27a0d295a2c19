// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
)

// Object decides on an object that is propagated, or is a copy. For a create the
// old one, for a delete the new one is nil. Ending says that the namespace is
// being deleted or gone.
func (w World) Object(kind schema.GroupKind, namespace string, before, after *unstructured.Unstructured, ending bool) Verdict {
	if !w.managed(namespace) || !w.Sources.Rules().Copies(kind) {
		return allowed
	}
	_, isCopy := inheritedFrom(before)
	_, willBeCopy := inheritedFrom(after)
	if isCopy || willBeCopy {
		return copied(before, after, ending)
	}
	return w.source(kind, namespace, before, after)
}

// copied decides on an object that is a copy before or after.
func copied(before, after *unstructured.Unstructured, ending bool) Verdict {
	if before == nil {
		return forbidden(TextCopyMade, hncv1alpha2.LabelInheritedFrom)
	}
	from, isCopy := inheritedFrom(before)
	if after == nil {
		if ending {
			return allowed
		}
		return forbidden(TextCopyDeleted, from)
	}
	to, willBeCopy := inheritedFrom(after)
	if isCopy != willBeCopy || from != to {
		return forbidden(TextCopyLabel, hncv1alpha2.LabelInheritedFrom)
	}
	if !propagate.UpToDate(after, before) || !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) || gainsOwner(before, after) {
		return forbidden(TextCopyChanged, from)
	}
	return allowed
}

// gainsOwner says whether a copy gets an owner, with which the garbage collector would
// delete it.
func gainsOwner(before, after *unstructured.Unstructured) bool {
	had := sets.New[types.UID]()
	for _, o := range before.GetOwnerReferences() {
		had.Insert(o.UID)
	}
	return slices.ContainsFunc(after.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return !had.Has(o.UID) })
}

func inheritedFrom(u *unstructured.Unstructured) (namespace string, found bool) {
	if u == nil {
		return "", false
	}
	namespace, found = u.GetLabels()[hncv1alpha2.LabelInheritedFrom]
	return namespace, found
}

// exceptions are the annotations that say where an object is copied.
var exceptions = []string{
	hncv1alpha2.AnnotationSelect, hncv1alpha2.AnnotationTreeSelect, hncv1alpha2.AnnotationNone, hncv1alpha2.AnnotationAll,
}

// source decides on an object that is no copy.
func (w World) source(kind schema.GroupKind, namespace string, before, after *unstructured.Unstructured) Verdict {
	if after == nil {
		return allowed
	}
	old := map[string]string{}
	if before != nil {
		old = before.GetAnnotations()
	}
	annotations := after.GetAnnotations()
	if v := annotationsOf(annotations, old); v.Denied != nil {
		return v
	}
	if after.GetDeletionTimestamp() != nil {
		return allowed // it takes no place any more, and nothing may keep it from going
	}
	s := w.Sources.Rules().NewSource(propagate.Describe(kind, namespace, after))
	if lost := w.Sources.Overwritten(w.Tree, s); len(lost) > 0 {
		return conflict(textTakesPlace, kind.Kind, after.GetName(), strings.Join(lost, ", "))
	}
	return allowed
}

func annotationsOf(annotations, old map[string]string) Verdict {
	for _, k := range sets.List(sets.KeySet(annotations)) {
		prefix, _, _ := strings.Cut(k, "/")
		if label, of := strings.CutSuffix(prefix, "."+hncv1alpha2.GroupName); of && !strings.Contains(label, ".") && !slices.Contains(exceptions, k) {
			return badRequest("there is no annotation %q", k)
		}
	}
	changed := map[string]string{}
	var set []string
	for _, k := range exceptions {
		if annotations[k] != old[k] {
			changed[k] = annotations[k]
		}
		if annotations[k] != "" {
			set = append(set, k)
		}
	}
	if len(changed) == 0 {
		return allowed
	}
	if _, err := propagate.ParseExceptions(changed); err != nil {
		return badRequest("%v", err)
	}
	if len(set) > 1 {
		return badRequest("only one of these annotations can be set: %s", strings.Join(set, ", "))
	}
	return allowed
}
