// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

func newConfigCommand(c *client) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "See and change which kinds are propagated",
		Args:  knownSubcommand,
		RunE:  help,
	}
	cmd.AddCommand(newConfigDescribeCommand(c), newConfigSetCommand(c), newConfigDeleteCommand(c))
	return cmd
}

// configuration is the HNCConfiguration of the cluster. It comes with a client to
// change it by.
func (c *client) configuration(ctx context.Context) (singleton, *unstructured.Unstructured, *hncv1alpha2.HNCConfiguration, error) {
	client, err := c.Dynamic()
	if err != nil {
		return singleton{}, nil, nil, err
	}
	s := singleton{
		client: client.Resource(configurationsResource),
		kind:   "HNCConfiguration",
		name:   hncv1alpha2.HNCConfigurationName,
	}
	o, err := s.get(ctx)
	if err != nil {
		return s, nil, nil, c.fail("Error reading the HNC Configuration: %s", err)
	}
	typed, err := decode[hncv1alpha2.HNCConfiguration](o)
	return s, o, typed, err
}

func (c *client) updateConfiguration(ctx context.Context, s singleton, o *unstructured.Unstructured, resources []hncv1alpha2.ResourceSpec) error {
	err := s.change(ctx, o, func(o *unstructured.Unstructured) error { return setResources(o, resources) })
	if err != nil {
		return c.fail("\nCould not update the HNC Configuration: %s", err)
	}
	return nil
}

// setResources writes the list of a configuration, and leaves all else as it is.
func setResources(o *unstructured.Unstructured, resources []hncv1alpha2.ResourceSpec) error {
	if len(resources) == 0 {
		unstructured.RemoveNestedField(o.Object, "spec", "resources")
		return nil
	}
	list := make([]any, 0, len(resources))
	for i := range resources {
		entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&resources[i])
		if err != nil {
			return err
		}
		list = append(list, entry)
	}
	return unstructured.SetNestedSlice(o.Object, list, "spec", "resources")
}
