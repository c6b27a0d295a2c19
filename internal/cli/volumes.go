// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// volumesBelow are the volumes that are deleted with the claims in a namespace, or with those that are found below a root.
// A user who may not list volumes sees by the marks of the claims which volumes are protected.
func (c *clients) volumesBelow(ctx context.Context, root target, found []target) ([]target, error) {
	claims := sets.New[types.UID]()
	for _, t := range slices.Concat(found, []target{root}) {
		if t.kind.GroupResource() == policy.Claims {
			claims.Insert(t.meta.UID)
		}
	}
	whole := root.kind.GroupResource() == policy.Namespaces
	if len(claims) == 0 && !whole {
		return nil, nil
	}
	volumes, err := c.volumes(ctx)
	if err != nil {
		return nil, err
	}
	var out []target
	for i := range volumes {
		claim := contents.ClaimOf(&volumes[i])
		if claim == nil || !claims.Has(claim.UID) && (!whole || claim.Namespace != root.meta.Name) {
			continue
		}
		t := newTarget(volumesKind, &metav1.PartialObjectMetadata{ObjectMeta: volumes[i].ObjectMeta})
		t.claim = claim
		out = append(out, t)
	}
	return out, nil
}

// volumes lists all PersistentVolumes; it returns none if the user may not.
func (c *clients) volumes(ctx context.Context) ([]corev1.PersistentVolume, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(volumesKind.GroupVersionResource).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list persistentvolumes: %w", err)
	}
	return convert[corev1.PersistentVolume](list.Items)
}

// endsWithClaim is for a volume: its data go with the claim, and the volume after them.
func (w *world) endsWithClaim(t target, goes func(claim target) bool) (fate, []string) {
	if claim, ok := w.byUID[t.claim.UID]; ok && !goes(claim) {
		return fateStays, []string{"its claim " + t.claim.Name + " stays"}
	}
	end, why := w.ends(t, volumeController, false)
	if end == fateRefused {
		end = fateLost
	}
	return end, why
}
