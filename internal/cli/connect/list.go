// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
)

// Each calls do for every object of a kind in all namespaces that options select, page by page, until it fails.
func Each(ctx context.Context, client dynamic.Interface, of schema.GroupVersionResource, options metav1.ListOptions, do func(*unstructured.Unstructured) error) error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(of).List(ctx, o)
	})
	return pages.EachListItem(ctx, options, func(o runtime.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the API server answered with %T", o)
		}
		return do(u)
	})
}

// List reads all objects of a kind in all namespaces.
func List[T any](ctx context.Context, client dynamic.Interface, of schema.GroupVersionResource) (out []T, err error) {
	err = Each(ctx, client, of, metav1.ListOptions{}, func(u *unstructured.Unstructured) error {
		one, err := As[T](u)
		if err == nil {
			out = append(out, *one)
		}
		return err
	})
	return out, err
}

// As reads a typed object out of what was served.
func As[T any](u *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return out, nil
}
