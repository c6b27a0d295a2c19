// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Holdfast reads what Holdfast says of itself. It is not found where Holdfast is not
// installed, or has not started yet.
func Holdfast(ctx context.Context, client dynamic.Interface) (*v1alpha1.Holdfast, error) {
	o, err := client.Resource(v1alpha1.GroupVersion.WithResource("holdfasts")).Get(ctx, v1alpha1.HoldfastName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return As[v1alpha1.Holdfast](o)
}

// InForce is the configuration that Holdfast says is in force, with its defaults; nil if
// it says none. Another version of Holdfast may have written it, and what is not known of
// it here is passed over.
func InForce(h *v1alpha1.Holdfast) (*configv1alpha1.HoldfastConfiguration, error) {
	if h == nil || h.Status.Configuration == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	c := &configv1alpha1.HoldfastConfiguration{}
	if err := yaml.Unmarshal([]byte(h.Status.Configuration), c); err != nil {
		return nil, fmt.Errorf("read the configuration in force: %w", err)
	}
	configv1alpha1.SetDefaults(c)
	return c, nil
}
