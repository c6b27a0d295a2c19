// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/config/crd"
	"github.com/holdfast-dev/holdfast/internal/platform/crds"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

// ownCRDs applies the CustomResourceDefinitions of some API groups, unless it is told not to.
type ownCRDs struct {
	client  client.Client
	enabled bool
}

func (o *Common) crds(direct client.Client) *ownCRDs {
	return &ownCRDs{client: direct, enabled: o.ApplyCRDs}
}

func (o *ownCRDs) apply(ctx context.Context, groups ...string) error {
	if !o.enabled {
		return nil
	}
	all, err := crd.Of(groups...)
	if err != nil {
		return err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.Log.WithName("crds"))
	return retry(ctx, func(ctx context.Context) error {
		return crds.Applier{Client: o.client, Version: version.Version}.Apply(ctx, all...)
	})
}

// definitionNames are the names of the CustomResourceDefinitions of some API groups.
func definitionNames(groups ...string) ([]string, error) {
	all, err := crd.Of(groups...)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(all))
	for _, d := range all {
		names = append(names, d.GetName())
	}
	return names, nil
}

// featureCRDs are those that only some features need. They are applied once such a feature is
// on, also while the process runs, by the replica that leads.
type featureCRDs struct {
	own    *ownCRDs
	config func() *configv1alpha1.HoldfastConfiguration
	// again is the pause before the next try to apply what could not be applied.
	again time.Duration
	wake  chan struct{}
}

func newFeatureCRDs(own *ownCRDs, config func() *configv1alpha1.HoldfastConfiguration, again time.Duration) *featureCRDs {
	return &featureCRDs{own: own, config: config, again: again, wake: make(chan struct{}, 1)}
}

// Wake asks for another look at the configuration. It never blocks.
func (f *featureCRDs) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Start follows the configuration until the context ends.
func (f *featureCRDs) Start(ctx context.Context) error {
	for {
		var again <-chan time.Time
		if err := f.apply(ctx); err != nil {
			ctrl.Log.Error(err, "CustomResourceDefinitions are not applied")
			again = time.After(f.again)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.wake:
		case <-again:
		}
	}
}

// apply does nothing while Holdfast stands by: the kinds are still another's.
func (f *featureCRDs) apply(ctx context.Context) error {
	groups := groupsOf(f.config())
	if len(groups) == 0 {
		return nil
	}
	return f.own.apply(ctx, groups...)
}

func groupsOf(c *configv1alpha1.HoldfastConfiguration) []string {
	if c.Hierarchy.Mode == configv1alpha1.ModeOff || c.Hierarchy.StandBy {
		return nil
	}
	return []string{hncv1alpha2.GroupName}
}
