// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// deleteOptions are what the command line of delete says.
type deleteOptions struct {
	parent, child string
	allow         bool
}

func newDeleteCommand(c *client) *cobra.Command {
	o := &deleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete -n PARENT CHILD",
		Short: "Delete a subnamespace",
		Long: `Delete a subnamespace: its anchor, which this command deletes, stays until the
namespace has gone. One with subnamespaces of its own goes only where cascading
deletion is allowed, on it or above it.

The parent must be named: that of the kubeconfig does not count.`,
		Example: `  # Delete team-a, which is below acme
  kubectl hns delete team-a -n acme

  # With all subnamespaces below it
  kubectl hns delete team-a -n acme --allowCascadingDeletion`,
		Args:              oneArgument("the name of the subnamespace"),
		ValidArgsFunction: c.completeAnchors,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.parent, o.child = c.parent(), args[0]
			if o.parent == "" {
				return c.fail(needParent)
			}
			return c.delete(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.allow, "allowCascadingDeletion", "a", false, "Allow cascading deletion on the subnamespace first")
	return cmd
}

func (c *client) delete(ctx context.Context, o *deleteOptions) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	if o.allow {
		if err := c.allowCascading(ctx, client, o.child); err != nil {
			return err
		}
	}
	if err := client.Resource(anchorsResource).Namespace(o.parent).Delete(ctx, o.child, metav1.DeleteOptions{}); err != nil {
		return c.fail("\nCould not delete subnamespace anchor.\nReason: %s", err)
	}
	c.Printf("Successfully deleted %q subnamespace anchor in %q namespace\n", o.child, o.parent)
	return nil
}

func (c *client) allowCascading(ctx context.Context, client dynamic.Interface, namespace string) error {
	served, hierarchy, err := c.readHierarchy(ctx, client, namespace)
	if err != nil {
		return err
	}
	if hierarchy.Spec.AllowCascadingDeletion {
		c.Printf("Cascading deletion for '%s' is already set to 'true'; unchanged\n", namespace)
		return nil
	}
	c.Printf("%s\n", allowing(namespace))
	spec := hierarchy.Spec
	spec.AllowCascadingDeletion = true
	return c.updateHierarchy(ctx, client, served, spec)
}
