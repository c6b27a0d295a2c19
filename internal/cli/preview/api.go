// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// API is what the API server is asked with. Everything that would write is a dry run.
type API struct {
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	Reviews  authorizationclient.SelfSubjectAccessReviewInterface
	// Access asks about other accounts than that of the user.
	Access authorizationclient.SubjectAccessReviewInterface
}

var dryRun = []string{metav1.DryRunAll}

// place is where an object is served.
type place struct {
	api       *API
	kind      Kind
	namespace string
	name      string
}

// at is where an object is served, in a version or, if that is empty, in the preferred one.
func (a *API) at(kind Kind, version string, id object.ID) place {
	if version != "" {
		kind.Resource.Version = version
	}
	return place{a, kind, id.Namespace, id.Name}
}

func (p place) client() dynamic.ResourceInterface {
	if p.namespace != "" {
		return p.api.Dynamic.Resource(p.kind.Resource).Namespace(p.namespace)
	}
	return p.api.Dynamic.Resource(p.kind.Resource)
}

// get reads an object; nil if it is not there.
func (p place) get(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := p.client().Get(ctx, p.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it is not there
	}
	return o, err
}

// apply applies an object as the engine does.
func (p place) apply(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return p.client().Patch(ctx, p.name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: object.FieldManager, Force: new(true), DryRun: dryRun})
}

// merge patches an object as the engine does.
func (p place) merge(ctx context.Context, body []byte) (*unstructured.Unstructured, error) {
	return p.client().Patch(ctx, p.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: object.FieldManager, DryRun: dryRun})
}

// remove deletes an object as the engine does, as it was seen.
func (p place) remove(ctx context.Context, o *unstructured.Unstructured) error {
	err := p.client().Delete(ctx, p.name, metav1.DeleteOptions{
		DryRun: dryRun, PropagationPolicy: new(metav1.DeletePropagationBackground),
		Preconditions: &metav1.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())},
	})
	if apierrors.IsNotFound(err) {
		return nil // it is gone
	}
	return err
}

// errNoRight is the answer to somebody whom RBAC does not let ask.
var errNoRight = errors.New("you may not")

// why takes apart what the API server has refused: that the user lacks the right, which
// says nothing of the sync, or that the request is refused whoever makes it.
func (p place) why(ctx context.Context, verb string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	review, reviewErr := p.api.Reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: p.kind.Resource.Group, Version: p.kind.Resource.Version, Resource: p.kind.Resource.Resource, Namespace: p.namespace, Name: p.name,
		},
	}}, metav1.CreateOptions{})
	if reviewErr == nil && review.Status.Allowed {
		return err
	}
	return fmt.Errorf("%w %s %s: %s", errNoRight, verb, p.kind.Resource.GroupResource(), p.name)
}

// space reads a Namespace.
func (a *API) space(ctx context.Context, name string) (space, error) {
	o, err := a.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return space{}, nil
	case err != nil:
		return space{unread: true}, err
	}
	return space{live: o}, nil
}
