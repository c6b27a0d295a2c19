// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
)

// parallelism is how many requests a command has under way at most.
const parallelism = 16

var (
	namespacesResource     = corev1.SchemeGroupVersion.WithResource("namespaces")
	eventsResource         = corev1.SchemeGroupVersion.WithResource("events")
	hierarchiesResource    = hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHierarchyConfigurations)
	anchorsResource        = hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceSubnamespaceAnchors)
	configurationsResource = hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHNCConfigurations)
)

// client is what the commands talk to the API server with.
type client struct{ *connect.Clients }

// parent is the namespace of -n, which create and delete want to be told: that of
// the kubeconfig is as good as never the one that is meant.
func (c *client) parent() string { return *c.Flags.Namespace }

// decode makes a typed object of one as it is served.
func decode[T any](o *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return out, nil
}

// listTyped reads all objects of a list, page by page.
func listTyped[T any](ctx context.Context, client dynamic.ResourceInterface, o metav1.ListOptions) ([]T, error) {
	var out []T
	err := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, o)
	}).EachListItem(ctx, o, func(item runtime.Object) error {
		served, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the API server answered with %T", item)
		}
		typed, err := decode[T](served)
		if err != nil {
			return err
		}
		out = append(out, *typed)
		return nil
	})
	return out, err
}

// listMetadata reads the metadata of all objects of a list, page by page.
func listMetadata(ctx context.Context, client metadata.ResourceInterface, o metav1.ListOptions) ([]*metav1.PartialObjectMetadata, error) {
	objects, _, err := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, o)
	}).List(ctx, o)
	if err != nil {
		return nil, err
	}
	var out []*metav1.PartialObjectMetadata
	err = meta.EachListItem(objects, func(item runtime.Object) error {
		m, ok := item.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("the API server answered with %T", item)
		}
		out = append(out, m)
		return nil
	})
	return out, err
}
