// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/openapi"
)

const (
	version  = "v1"
	kind     = "Flunder"
	resource = "flunders"
	singular = "flunder"
)

// Flunder is the kind that is served: an object with one field that can be changed.
type Flunder struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec FlunderSpec `json:"spec"`
}

// FlunderSpec is the content of a Flunder.
type FlunderSpec struct {
	Text string `json:"text,omitempty"`
}

// FlunderList is a list of them.
type FlunderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Flunder `json:"items"`
}

// DeepCopyObject copies the object and all that it refers to.
func (f *Flunder) DeepCopyObject() runtime.Object {
	out := *f
	f.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject copies the list and all that it refers to.
func (l *FlunderList) DeepCopyObject() runtime.Object {
	out := *l
	l.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]Flunder, len(l.Items))
		for i := range l.Items {
			out.Items[i] = l.Items[i]
			l.Items[i].DeepCopyInto(&out.Items[i].ObjectMeta)
		}
	}
	return &out
}

// OpenAPIModelName is what the type is called in the documents that describe the API.
func (Flunder) OpenAPIModelName() string { return "dev.holdfast.localcluster.Flunder" }

// OpenAPIModelName is what the type is called in the documents that describe the API.
func (FlunderSpec) OpenAPIModelName() string { return "dev.holdfast.localcluster.FlunderSpec" }

// OpenAPIModelName is what the type is called in the documents that describe the API.
func (FlunderList) OpenAPIModelName() string { return "dev.holdfast.localcluster.FlunderList" }

// newScheme returns what the server knows, and how the documents that describe the API name it. One Go
// type is both the version that is served and the one that the server works with.
func newScheme(group string) (*runtime.Scheme, *openapi.DefinitionNamer, error) {
	served := schema.GroupVersion{Group: group, Version: version}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(served, &Flunder{}, &FlunderList{})
	metav1.AddToGroupVersion(scheme, served)
	// What every API server speaks about its API is in the group without a name.
	unnamed := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unnamed)
	scheme.AddUnversionedTypes(unnamed,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	// Before the internal version is there, which no document should mention.
	names := openapi.NewDefinitionNamer(scheme)
	scheme.AddKnownTypes(schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}, &Flunder{}, &FlunderList{})
	// Admission converts even between versions that are the same type.
	err := scheme.AddConversionFunc((*Flunder)(nil), (*Flunder)(nil), func(from, to any, _ conversion.Scope) error {
		*to.(*Flunder) = *from.(*Flunder).DeepCopyObject().(*Flunder)
		return nil
	})
	return scheme, names, errors.Join(err, scheme.SetVersionPriority(served))
}
