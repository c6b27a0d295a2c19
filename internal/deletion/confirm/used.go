// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// activePods selects the pods that have not ended.
var activePods = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
).String()

// namespaceUse says what shows that a namespace is in use, as OpenKruise has it:
// a pod that has not ended, or a volume claim that is bound; "" if nothing does.
func namespaceUse(ctx context.Context, c kubernetes.Interface, b bound, name string) (string, error) {
	found, err := eachPage(metav1.ListOptions{FieldSelector: activePods, Limit: page}, func(o metav1.ListOptions) (string, string, error) {
		pods, err := listed(ctx, b, func() (*corev1.PodList, error) { return c.CoreV1().Pods(name).List(ctx, o) })
		if err != nil {
			return "", "", fmt.Errorf("list pods: %w", err)
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; p.DeletionTimestamp == nil {
				return "pods/" + p.Name + " is active", "", nil
			}
		}
		return "", pods.Continue, nil
	})
	if found != "" || err != nil {
		return found, err
	}
	return eachPage(metav1.ListOptions{Limit: page}, func(o metav1.ListOptions) (string, string, error) {
		claims, err := listed(ctx, b, func() (*corev1.PersistentVolumeClaimList, error) {
			return c.CoreV1().PersistentVolumeClaims(name).List(ctx, o)
		})
		if err != nil {
			return "", "", fmt.Errorf("list persistentvolumeclaims: %w", err)
		}
		for i := range claims.Items {
			if p := &claims.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.ClaimBound {
				return "persistentvolumeclaims/" + p.Name + " is bound", "", nil
			}
		}
		return "", claims.Continue, nil
	})
}

// crdUse says what shows that a CustomResourceDefinition is in use: an instance
// that is not being deleted; "" if there is none.
func crdUse(ctx context.Context, c metadata.Interface, b bound, k inventory.Kind) (string, error) {
	return eachPage(metav1.ListOptions{Limit: 1}, func(o metav1.ListOptions) (string, string, error) {
		list, err := listed(ctx, b, func() (*metav1.PartialObjectMetadataList, error) { return c.Resource(k.Resource).List(ctx, o) })
		if apierrors.IsNotFound(err) {
			return "", "", nil
		}
		if err != nil {
			return "", "", fmt.Errorf("list %s: %w", k.GroupResource(), err)
		}
		for _, item := range list.Items {
			if item.DeletionTimestamp == nil {
				return k.GroupResource().String() + "/" + item.Name + " is there", "", nil
			}
		}
		return "", list.Continue, nil
	})
}

// definedBy reads the kind that a CustomResourceDefinition defines out of the
// definition: what the API server serves is known a moment later. In a review that is
// forged the definition may be of another kind than its name, such as Secrets.
func definedBy(name string, raw []byte) (inventory.Kind, error) {
	var crd struct {
		Spec struct {
			Group    string
			Scope    string
			Names    struct{ Plural, Kind string }
			Versions []struct {
				Name            string
				Served, Storage bool
			}
		}
	}
	if err := json.Unmarshal(raw, &crd); err != nil {
		return inventory.Kind{}, fmt.Errorf("the definition cannot be read: %w", err)
	}
	if crd.Spec.Group == "" || name != crd.Spec.Names.Plural+"."+crd.Spec.Group {
		return inventory.Kind{}, fmt.Errorf("the definition is one of %s.%s", crd.Spec.Names.Plural, crd.Spec.Group)
	}
	k := inventory.Kind{
		Resource:   schema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural},
		Kind:       crd.Spec.Names.Kind,
		Namespaced: crd.Spec.Scope == "Namespaced",
		CRD:        true,
	}
	for _, v := range crd.Spec.Versions {
		if v.Served && (k.Resource.Version == "" || v.Storage) { // the stored one needs no conversion
			k.Resource.Version = v.Name
		}
	}
	return k, nil
}
