// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	matching "github.com/holdfast-dev/holdfast/internal/deletion/selection"
)

// listAll lists the objects of one of Holdfast's own kinds, as they are served.
func (c *clients) listAll(ctx context.Context, k kind) (*unstructured.UnstructuredList, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(k.GroupVersionResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, ownKindError(k, err)
	}
	return list, nil
}

// ownKindError says what it means that one of Holdfast's kinds is not served.
func ownKindError(k kind, err error) error {
	if isNotServed(err) {
		return fmt.Errorf("the API server does not serve %s: Holdfast is not installed, or an older one is", k.GroupResource())
	}
	return reachable(err)
}

// isNotServed says whether a kind is not there, rather than an object of it.
func isNotServed(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	return status.Status().Details == nil || status.Status().Details.Name == ""
}

// convert reads typed objects out of what was served.
func convert[T any](items []unstructured.Unstructured) ([]T, error) {
	out := make([]T, len(items))
	for i := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &out[i]); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", items[i].GetKind(), items[i].GetName(), err)
		}
	}
	return out, nil
}

// protectionSet reads the ResourceDeletionProtections. That they are not served
// is no error: then there are none.
func (c *clients) protectionSet(ctx context.Context) (*matching.Set, error) {
	set := matching.NewSet()
	list, err := c.listOwn(ctx, protectionsKind)
	if err != nil || list == nil {
		return set, err
	}
	all, err := convert[v1alpha1.ResourceDeletionProtection](list.Items)
	if err != nil {
		return set, err
	}
	return set, putAll(set, all)
}

func putAll(set *matching.Set, all []v1alpha1.ResourceDeletionProtection) error {
	for i := range all {
		p, err := matching.New(&all[i])
		if err != nil {
			return fmt.Errorf("read ResourceDeletionProtection %s: %w", all[i].Name, err)
		}
		set.Put(p)
	}
	return nil
}

// overridesByTarget reads the DeletionOverrides, by the UIDs of their targets.
func (c *clients) overridesByTarget(ctx context.Context) (map[string][]v1alpha1.DeletionOverride, error) {
	list, err := c.listOwn(ctx, overridesKind)
	if err != nil || list == nil {
		return nil, err
	}
	all, err := convert[v1alpha1.DeletionOverride](list.Items)
	if err != nil {
		return nil, err
	}
	out := map[string][]v1alpha1.DeletionOverride{}
	for _, o := range all {
		out[o.Spec.Target.UID] = append(out[o.Spec.Target.UID], o)
	}
	return out, nil
}

// listOwn is listAll for explanations: nil for a kind that is not served.
func (c *clients) listOwn(ctx context.Context, k kind) (*unstructured.UnstructuredList, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(k.GroupVersionResource).List(ctx, metav1.ListOptions{})
	switch {
	case isNotServed(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not list %s, and they are not known; what they have marked is", k.GroupResource())
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", k.GroupResource(), reachable(err))
	}
	return list, nil
}

// aggregated are the groups and versions that extension API servers serve, as
// far as one may know: none where APIServices may not be listed.
func (c *clients) aggregated(ctx context.Context) sets.Set[string] {
	out := sets.New[string]()
	client, err := c.Dynamic()
	if err != nil {
		return out
	}
	list, err := client.Resource(apiServices).List(ctx, metav1.ListOptions{})
	if err != nil {
		return out
	}
	for _, s := range list.Items {
		if service, _, _ := unstructured.NestedMap(s.Object, "spec", "service"); service != nil {
			group, _, _ := unstructured.NestedString(s.Object, "spec", "group")
			version, _, _ := unstructured.NestedString(s.Object, "spec", "version")
			out.Insert(group + "/" + version)
		}
	}
	return out
}
