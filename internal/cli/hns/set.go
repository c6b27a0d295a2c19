// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// setOptions are what the command line of set says.
type setOptions struct {
	namespace     string
	root          bool
	parent        string
	allow, forbid bool
}

func newSetCommand(c *client) *cobra.Command {
	o := &setOptions{}
	cmd := &cobra.Command{
		Use:   "set NAMESPACE",
		Short: "Set the parent of a namespace, and whether it may be deleted with what is below it",
		Long: `Set the parent of a namespace, or make it a root; and say whether subnamespaces in
it may be deleted together with what is below them.

The parent of a subnamespace is where its anchor is, and is not changed here.`,
		Example: `  # Put team-a below acme
  kubectl hns set team-a --parent acme

  # Take it out again
  kubectl hns set team-a --root

  # Let the subnamespaces of team-a go with what is below them
  kubectl hns set team-a --allowCascadingDeletion`,
		Args:              oneArgument("the name of a namespace"),
		ValidArgsFunction: c.completeNamespaces(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.namespace = args[0]
			if refusal := o.contradiction(); refusal != "" {
				return c.fail("%s", refusal)
			}
			return c.set(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.root, "root", "r", false, "Make the namespace a root: take its parent away")
	flags.StringVarP(&o.parent, "parent", "p", "", "The parent to give the namespace")
	flags.BoolVarP(&o.allow, "allowCascadingDeletion", "a", false, "Let its subnamespaces be deleted with what is below them")
	flags.BoolVarP(&o.forbid, "forbidCascadingDeletion", "f", false, "Let them be deleted only when nothing is below them")
	_ = cmd.RegisterFlagCompletionFunc("parent", c.completeNamespaces(0))
	return cmd
}

// contradiction is what no namespace can be. Nothing is read or written for it.
func (o *setOptions) contradiction() string {
	switch {
	case o.root && o.parent != "":
		return "Cannot give the namespace a parent and make it a root at the same time"
	case o.allow && o.forbid:
		return "Cannot set both --allowCascadingDeletion and --forbidCascadingDeletion"
	}
	return ""
}

func (c *client) set(ctx context.Context, o *setOptions) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	served, hierarchy, err := c.readHierarchy(ctx, client, o.namespace)
	if err != nil {
		return err
	}
	spec, said, changes := o.plan(hierarchy.Spec)
	for _, line := range said {
		c.Printf("%s\n", line)
	}
	if changes > 0 {
		if err := c.updateHierarchy(ctx, client, served, spec); err != nil {
			return err
		}
	}
	c.Printf("%s\n", outcome(o.namespace, changes))
	return nil
}

// plan is what becomes of a spec, with a line about each property that was asked
// for, and how many of them change.
func (o *setOptions) plan(spec hncv1alpha2.HierarchyConfigurationSpec) (_ hncv1alpha2.HierarchyConfigurationSpec, said []string, changes int) {
	if line, changed := o.planParent(&spec); line != "" {
		said, changes = append(said, line), changes+changed
	}
	if line, changed := o.planCascading(&spec); line != "" {
		said, changes = append(said, line), changes+changed
	}
	return spec, said, changes
}

func (o *setOptions) planParent(spec *hncv1alpha2.HierarchyConfigurationSpec) (line string, changes int) {
	old := spec.Parent
	switch {
	case o.root && old == "":
		return o.namespace + " is already a root namespace; unchanged ", 0 // HNC's line has that blank
	case o.root:
		spec.Parent = ""
		return fmt.Sprintf("Unsetting the parent of %s (was previously %s)", o.namespace, old), 1
	case o.parent == "":
		return "", 0
	case o.parent == old:
		return fmt.Sprintf("Parent of %s is already %s; unchanged", o.namespace, old), 0
	}
	spec.Parent = o.parent
	if old == "" {
		return fmt.Sprintf("Setting the parent of %s to %s", o.namespace, o.parent), 1
	}
	return fmt.Sprintf("Changing the parent of %s from %s to %s", o.namespace, old, o.parent), 1
}

func (o *setOptions) planCascading(spec *hncv1alpha2.HierarchyConfigurationSpec) (line string, changes int) {
	switch {
	case !o.allow && !o.forbid:
		return "", 0
	case spec.AllowCascadingDeletion == o.allow:
		return fmt.Sprintf("Cascading deletion for '%s' is already set to %t; unchanged", o.namespace, o.allow), 0
	}
	spec.AllowCascadingDeletion = o.allow
	if o.allow {
		return allowing(o.namespace), 1
	}
	return fmt.Sprintf("Forbidding cascading deletion on '%s'", o.namespace), 1
}

func allowing(namespace string) string {
	return fmt.Sprintf("Allowing cascading deletion on '%s'", namespace)
}

// outcome is the last line of set. The first word is spelled as HNC's plugin
// spells it: scripts look for it.
func outcome(namespace string, changes int) string {
	const updated = "Succesfully updated %d %s of the hierarchical configuration of %s" //nolint:misspell // see above
	switch changes {
	case 0:
		return "No changes made"
	case 1:
		return fmt.Sprintf(updated, changes, "property", namespace)
	}
	return fmt.Sprintf(updated, changes, "properties", namespace)
}
