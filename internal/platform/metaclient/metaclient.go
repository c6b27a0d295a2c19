// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metaclient is client-go's metadata client, for names that others have chosen. Client-go puts a name into the path
// of a request as it is: with the name "../services/http:a:80/proxy/b" a read of a Pod is a request to the Service a, by
// the API server's proxy and with the rights of this process. Names of objects that exist cannot do that, but those in
// a DeletionOverride or in a forged review can.
package metaclient

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// NewForConfig returns a client for which an object does not exist whose name, namespace or kind is no segment of a path.
func NewForConfig(c *rest.Config) (metadata.Interface, error) {
	inner, err := metadata.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	return checked{inner}, nil
}

type checked struct{ metadata.Interface }

// Resource implements metadata.Interface.
func (c checked) Resource(r schema.GroupVersionResource) metadata.Getter {
	inner := c.Interface.Resource(r)
	return kind{objects{inner, r, ""}, inner}
}

// kind is a Getter.
type kind struct {
	objects
	getter metadata.Getter
}

// Namespace implements metadata.Getter.
func (k kind) Namespace(namespace string) metadata.ResourceInterface {
	return objects{k.getter.Namespace(namespace), k.resource, namespace}
}

// objects are those of a kind, of one namespace if it is not empty.
type objects struct {
	inner     metadata.ResourceInterface
	resource  schema.GroupVersionResource
	namespace string
}

// exist returns NotFound if there can be no objects of these names.
func (o objects) exist(names ...string) error {
	for _, segment := range append(names, o.namespace, o.resource.Group, o.resource.Version, o.resource.Resource) {
		if len(content.IsPathSegmentName(segment)) > 0 {
			return apierrors.NewNotFound(o.resource.GroupResource(), segment)
		}
	}
	return nil
}

// Delete implements metadata.ResourceInterface.
func (o objects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if err := o.exist(append(subresources, name)...); err != nil {
		return err
	}
	return o.inner.Delete(ctx, name, options, subresources...)
}

// DeleteCollection implements metadata.ResourceInterface.
func (o objects) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	if err := o.exist(); err != nil {
		return err
	}
	return o.inner.DeleteCollection(ctx, options, list)
}

// Get implements metadata.ResourceInterface.
func (o objects) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	if err := o.exist(append(subresources, name)...); err != nil {
		return nil, err
	}
	return o.inner.Get(ctx, name, options, subresources...)
}

// List implements metadata.ResourceInterface.
func (o objects) List(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if err := o.exist(); err != nil {
		return nil, err
	}
	return o.inner.List(ctx, options)
}

// Watch implements metadata.ResourceInterface.
func (o objects) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := o.exist(); err != nil {
		return nil, err
	}
	return o.inner.Watch(ctx, options)
}

// Patch implements metadata.ResourceInterface.
func (o objects) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	if err := o.exist(append(subresources, name)...); err != nil {
		return nil, err
	}
	return o.inner.Patch(ctx, name, kind, data, options, subresources...)
}
