// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// treeOptions are what the command line of tree says.
type treeOptions struct {
	names []string
	all   bool
}

// shownProblems is how many namespaces that cannot be read are named.
const shownProblems = 3

func newTreeCommand(c *client) *cobra.Command {
	o := &treeOptions{}
	cmd := &cobra.Command{
		Use:   "tree (NAMESPACE... | --all-namespaces)",
		Short: "Show trees of namespaces",
		Long: `Show the namespaces below some, or all trees. "[s]" is before subnamespaces, and the
numbers behind a name are those of its conditions, which are listed below.

A few requests do for all, where you may list namespaces and
hierarchyconfigurations. Where you may not, they are read one by one.`,
		Example: `  kubectl hns tree acme
  kubectl hns tree -A`,
		ValidArgsFunction: c.completeNamespaces(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if len(o.names) == 0 && !o.all {
				return c.fail("Error: Must specify the root of the tree(s) to display or else specify --all-namespaces")
			}
			return c.tree(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "Show all trees of the cluster")
	return cmd
}

func (c *client) tree(ctx context.Context, o *treeOptions) error {
	s, err := c.surveyor()
	if err != nil {
		return err
	}
	if err := s.list(ctx); err != nil {
		return c.fail("Could not %s", err)
	}
	names := o.names
	if o.all {
		if s.forbidden != nil {
			return c.fail("Could not list namespaces: %s", s.forbidden)
		}
		names = slices.Sorted(maps.Keys(s.namespaces))
	}
	text := newTreeText(s.survey(ctx, names))
	for _, name := range names {
		// With names and -A each namespace has its tree, as with HNC's plugin.
		text.add(name, len(o.names) == 0)
	}
	c.Printf("%s", text.String())
	return c.unread(text)
}

// unread says which namespaces could not be read.
func (c *client) unread(text *treeText) error {
	for i, problem := range text.problems {
		if i == shownProblems {
			c.Notef("%d more namespaces could not be read", len(text.problems)-i)
			break
		}
		c.Notef("%s", problem)
	}
	if text.failed || len(text.problems) > 0 {
		return ErrTold
	}
	return nil
}
