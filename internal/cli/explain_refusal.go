// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/refusal"
)

// wouldRefuse asks whether the API server would let an object go; nil if it would.
func (c *clients) wouldRefuse(ctx context.Context, t target) (*refusal.Refusal, error) {
	if t.meta.DeletionTimestamp != nil {
		return nil, nil //nolint:nilnil // Holdfast and the API server let that finish
	}
	client, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	err = client.Resource(t.kind.GroupVersionResource).Namespace(t.meta.Namespace).Delete(ctx, t.meta.Name, metav1.DeleteOptions{
		DryRun: []string{metav1.DryRunAll}, PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &t.meta.UID},
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nobody refuses
	}
	if r := refusal.Of(err); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("ask the API server whether %s may be deleted: %w", t, err)
}

// refusedBy takes in who else has something against the delete.
func (x *explanation) refusedBy(r *refusal.Refusal) {
	if r == nil {
		return
	}
	x.Allowed, x.Refusal = false, r
	x.NextSteps = append(x.NextSteps, r.Steps(refusal.About{
		Target: x.target.String(), Flag: x.target.namespaceFlag(), Name: x.target.meta.Name, Delete: true,
	})...)
}
