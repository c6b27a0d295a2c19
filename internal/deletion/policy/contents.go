// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Resources with something below them that is in no owner reference.
var (
	Namespaces                = schema.GroupResource{Resource: "namespaces"}
	CustomResourceDefinitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	Claims                    = schema.GroupResource{Resource: "persistentvolumeclaims"}
	// Volumes are below the claims that they are bound to.
	Volumes = schema.GroupResource{Resource: "persistentvolumes"}
)

// NotOrphaned are the resources of which a deletion that orphans deletes what is below them all the same.
var NotOrphaned = []schema.GroupResource{Namespaces, CustomResourceDefinitions, Claims}

// onUnchecked refuses to delete a definition without a look at its objects, and to prepare that. The API server deletes
// all of them, protected or not.
func onUnchecked(k Key, req Request) []Finding {
	if k.Mark != MarkContents || req.Resource != CustomResourceDefinitions || req.MayUnprotect {
		return nil
	}
	unchecked := !passesUnlooked(req.OldObject) && passesUnlooked(req.Object)
	if req.Operation == admissionv1.Delete {
		unchecked = passesUnlooked(req.OldObject) && !terminating(req.OldObject) && v1alpha1.MarkOf(req.OldObject, v1alpha1.OverrideContentsMark) == ""
	}
	if !unchecked {
		return nil
	}
	return []Finding{{Rule: RuleUnchecked, Key: k, Message: UncheckedMessage()}}
}

// passesUnlooked says whether a deletion passes by the webhook that looks what is in
// the object.
func passesUnlooked(o *metav1.PartialObjectMetadata) bool {
	return o != nil && o.Annotations[v1alpha1.DeleteUncheckedAnnotation] == o.Name
}
