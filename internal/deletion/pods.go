// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// ProtectsPod says what would refuse to delete a pod, "" for nothing. It is for
// whoever deletes pods in a way that no policy sees, which is what an eviction does.
func (g *Guard) ProtectsPod(ctx context.Context, namespace string, o *metav1.ObjectMeta) (string, error) {
	c, where := g.o.Config()
	if c.Mode != configv1alpha1.ModeEnforce {
		return "", nil
	}
	ns, err := g.o.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("get namespace: %w", err)
	}
	return policy.ProtectsPod(c, where, &ns.ObjectMeta, o), nil
}
