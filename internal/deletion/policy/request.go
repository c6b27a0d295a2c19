// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is what the rules need to know of a request to the API server.
type Request struct {
	Operation   admissionv1.Operation
	Resource    schema.GroupResource
	SubResource string
	// Namespace is the request's: for a Namespace object its own name, for
	// other cluster-scoped objects empty.
	Namespace string
	// Object is the object as it would become; nil when it is deleted.
	Object *metav1.PartialObjectMetadata
	// OldObject is the object as it stands; nil when it is created.
	OldObject *metav1.PartialObjectMetadata
	// Used says whether OldObject is in use, as Used has it.
	Used bool
	// Orphans says that what OldObject owns is to stay when it is deleted.
	Orphans bool
	// Released says that the object is in a namespace that is being deleted
	// together with what is in it, by a DeletionOverride.
	Released bool
	// User is the name of whoever asks.
	User string
	// Operates reports whether User is the operator of OldObject; see OperatorChecks.
	Operates bool
	// MayUnprotect says whether User holds the verb unprotect in
	// UnprotectNamespace. It is asked of the cluster's authorizer.
	MayUnprotect bool
	// MayBypass says of which marks of OldObject User was given the verb bypass on
	// the protection that the mark names, and not merely every verb.
	MayBypass map[Mark]bool
}

// ErrNoObject is returned for a request that names no object to judge. Whoever
// decides should refuse such a request.
var ErrNoObject = errors.New("the request carries no object")

// FromAdmission reads what the rules need out of an admission request; it
// leaves Released, Operates, MayUnprotect and MayBypass empty, which it cannot know. The name of the object is taken from the object:
// the request's own is empty when a whole collection is deleted.
func FromAdmission(in *admissionv1.AdmissionRequest) (Request, error) {
	req := Request{
		Operation:   in.Operation,
		Resource:    schema.GroupResource{Group: in.Resource.Group, Resource: in.Resource.Resource},
		SubResource: in.SubResource,
		Namespace:   in.Namespace,
		User:        in.UserInfo.Username,
	}
	var err error
	if req.Object, err = decode(in.Object.Raw); err != nil {
		return Request{}, fmt.Errorf("decode object: %w", err)
	}
	if req.OldObject, err = decode(in.OldObject.Raw); err != nil {
		return Request{}, fmt.Errorf("decode oldObject: %w", err)
	}
	switch {
	case in.Operation == admissionv1.Create && req.Object == nil,
		in.Operation == admissionv1.Update && (req.Object == nil || req.OldObject == nil),
		in.Operation == admissionv1.Delete && req.OldObject == nil:
		return Request{}, ErrNoObject
	}
	if in.Operation == admissionv1.Delete {
		if err := req.readDelete(in); err != nil {
			return Request{}, err
		}
	}
	return req, nil
}

// readDelete reads what counts for a deletion beside the metadata.
func (r *Request) readDelete(in *admissionv1.AdmissionRequest) error {
	var object map[string]any
	if err := json.Unmarshal(in.OldObject.Raw, &object); err != nil {
		return fmt.Errorf("decode oldObject: %w", err)
	}
	r.Used = Used(r.Resource, object)
	if len(in.Options.Raw) == 0 {
		return nil
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal(in.Options.Raw, &options); err != nil {
		return fmt.Errorf("decode options: %w", err)
	}
	r.Orphans = options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationOrphan
	return nil
}

func decode(raw []byte) (*metav1.PartialObjectMetadata, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	return &o, nil
}

// UnprotectNamespace is the namespace in which the verb unprotect is asked for
// an object; empty means cluster-wide. A Namespace is asked cluster-wide, so
// that a Role inside it cannot grant its own end.
func UnprotectNamespace(r schema.GroupResource, namespace string) string {
	if r == (schema.GroupResource{Resource: "namespaces"}) {
		return ""
	}
	return namespace
}
