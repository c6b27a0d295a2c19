// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// volumes are the lists that find protected volumes which are deleted with claims in a namespace: one per label, and one
// of all volumes if protections select any.
func (l Look) volumes(c corev1client.PersistentVolumeInterface, namespace string) (out []search) {
	add := func(selector string, protected func(*metav1.PartialObjectMetadata) bool) {
		out = append(out, search{policy.Volumes, func(ctx context.Context) (*contents.Ref, bool, error) {
			found, err := eachPage(metav1.ListOptions{LabelSelector: selector, Limit: page}, func(o metav1.ListOptions) (string, string, error) {
				list, err := listed(ctx, l.Bound, func() (*corev1.PersistentVolumeList, error) { return c.List(ctx, o) })
				if err != nil {
					return "", "", fmt.Errorf("list persistentvolumes: %w", err)
				}
				for i := range list.Items {
					v := &list.Items[i]
					claim := contents.ClaimOf(v)
					if claim != nil && claim.Namespace == namespace && v.DeletionTimestamp == nil && protected(&metav1.PartialObjectMetadata{ObjectMeta: v.ObjectMeta}) {
						return v.Name, "", nil
					}
				}
				return "", list.Continue, nil
			})
			if found == "" || err != nil {
				return nil, false, err
			}
			return &contents.Ref{Resource: policy.Volumes, Name: found}, true, nil
		}})
	}
	for _, key := range l.Labels {
		add(key.Selector(), func(o *metav1.PartialObjectMetadata) bool { return key.Protects(policy.Volumes, key.Value(o)) })
	}
	kind := corev1.SchemeGroupVersion.WithKind("PersistentVolume").GroupKind()
	if l.Protections.Names(kind) {
		add("", func(o *metav1.PartialObjectMetadata) bool { return len(l.Protections.Match(kind, o, nil)) > 0 })
	}
	return out
}
