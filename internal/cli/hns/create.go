// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// needParent is what create and delete say without -n.
const needParent = "Error: parent must be set via --namespace or -n"

func newCreateCommand(c *client) *cobra.Command {
	return &cobra.Command{
		Use:   "create -n PARENT CHILD",
		Short: "Create a subnamespace below a namespace",
		Long: `Create a subnamespace below a namespace: the namespace appears as soon as its
anchor, which this command makes, has been seen. Whoever may create anchors
needs no rights to create namespaces.

The parent must be named: that of the kubeconfig does not count.`,
		Example: `  # Make team-a below acme
  kubectl hns create team-a -n acme`,
		Args:              oneArgument("the name of the subnamespace"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.parent() == "" {
				return c.fail(needParent)
			}
			return c.create(cmd.Context(), c.parent(), args[0])
		},
	}
}

func (c *client) create(ctx context.Context, parent, child string) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	anchor := &unstructured.Unstructured{}
	anchor.SetGroupVersionKind(hncv1alpha2.GroupVersion.WithKind("SubnamespaceAnchor"))
	anchor.SetNamespace(parent)
	anchor.SetName(child)
	if _, err := client.Resource(anchorsResource).Namespace(parent).Create(ctx, anchor, metav1.CreateOptions{}); err != nil {
		return c.fail("\nCould not create subnamespace anchor.\nReason: %s", err)
	}
	c.Printf("Successfully created %q subnamespace anchor in %q namespace\n", child, parent)
	return nil
}
