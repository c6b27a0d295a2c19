// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// configDeleteOptions are what the command line of config delete-type says.
type configDeleteOptions struct {
	group, resource string
}

func newConfigDeleteCommand(c *client) *cobra.Command {
	o := &configDeleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete-type [--group GROUP] --resource RESOURCE",
		Short: "Leave a kind alone again: forget how it is propagated",
		Long: `Leave a kind alone again: forget how it is propagated. Copies stay where they are;
to have them taken away, set its mode to Remove first.`,
		Example: `  kubectl hns config delete-type --resource secrets
  kubectl hns config delete-type --group networking.k8s.io --resource networkpolicies`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.deleteType(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.group, "group", "", "The API group of the resource; empty for a core kind")
	cmd.Flags().StringVar(&o.resource, "resource", "", "The resource, such as secrets")
	return cmd
}

func (c *client) deleteType(ctx context.Context, o *configDeleteOptions) error {
	s, served, config, err := c.configuration(ctx)
	if err != nil {
		return err
	}
	left := o.without(config.Spec.Resources)
	if len(left) == len(config.Spec.Resources) {
		c.Printf("Nothing to delete; No configuration for type with group: %s, resource: %s\n", o.group, o.resource)
		return nil
	}
	if err := c.updateConfiguration(ctx, s, served, left); err != nil {
		return err
	}
	c.Printf("Configuration for type with group: %s, resource: %s is deleted\n", o.group, o.resource)
	return nil
}

// without are the resources that are not the one to be deleted.
func (o *configDeleteOptions) without(resources []hncv1alpha2.ResourceSpec) []hncv1alpha2.ResourceSpec {
	return slices.DeleteFunc(slices.Clone(resources), func(r hncv1alpha2.ResourceSpec) bool {
		return r.Group == o.group && r.Resource == o.resource
	})
}
