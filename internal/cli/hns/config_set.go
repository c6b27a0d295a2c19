// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// modes are the values of --mode.
var modes = []hncv1alpha2.SynchronizationMode{
	hncv1alpha2.ModePropagate, hncv1alpha2.ModeRemove, hncv1alpha2.ModeIgnore, hncv1alpha2.ModeAllowPropagate,
}

// configSetOptions are what the command line of config set-resource says.
type configSetOptions struct {
	group, resource, mode string
	force                 bool
}

func newConfigSetCommand(c *client) *cobra.Command {
	o := &configSetOptions{}
	cmd := &cobra.Command{
		Use:   "set-resource RESOURCE [--group GROUP] --mode MODE [--force]",
		Short: "Say how the objects of a kind are propagated",
		Long: `Say how the objects of a kind are propagated: Propagate copies them to all
namespaces below, AllowPropagate those that ask for it, Remove takes the copies
away, Ignore leaves everything as it is.

From Ignore to a mode that copies, objects in namespaces below are overwritten by
those above that have the same name. That needs --force; with Remove in between
they can be seen first.`,
		Example: `  # A core kind
  kubectl hns config set-resource secrets --mode Propagate

  # Another
  kubectl hns config set-resource networkpolicies --group networking.k8s.io --mode AllowPropagate`,
		Args:              oneArgument("a resource, such as secrets"),
		ValidArgsFunction: c.completeResources(&o.group),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.resource = args[0]
			return c.setResource(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.group, "group", "", "The API group of the resource; empty for a core kind")
	flags.StringVar(&o.mode, "mode", "", "Propagate, Remove, Ignore or AllowPropagate; without one, Propagate")
	flags.BoolVarP(&o.force, "force", "f", false, "Go from Ignore to a mode that copies, whatever that overwrites")
	var names []string
	for _, m := range modes {
		names = append(names, string(m))
	}
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// setResource says nothing when it succeeds, as HNC's does not.
func (c *client) setResource(ctx context.Context, o *configSetOptions) error {
	s, served, config, err := c.configuration(ctx)
	if err != nil {
		return err
	}
	resources, refusal := o.change(config.Spec.Resources)
	if refusal != "" {
		return c.fail("%s", refusal)
	}
	return c.updateConfiguration(ctx, s, served, resources)
}

// change is what becomes of the list of a configuration, or why nothing does.
func (o *configSetOptions) change(resources []hncv1alpha2.ResourceSpec) (changed []hncv1alpha2.ResourceSpec, refusal string) {
	resources = slices.Clone(resources)
	mode := normalMode(o.mode)
	i := slices.IndexFunc(resources, func(r hncv1alpha2.ResourceSpec) bool { return r.Group == o.group && r.Resource == o.resource })
	if i < 0 {
		return append(resources, hncv1alpha2.ResourceSpec{Group: o.group, Resource: o.resource, Mode: mode}), ""
	}
	copies := mode == hncv1alpha2.ModePropagate || mode == hncv1alpha2.ModeAllowPropagate
	if resources[i].Mode == hncv1alpha2.ModeIgnore && copies && !o.force {
		return nil, fmt.Sprintf("Switching %q directly from 'Ignore' to '%s' could overwrite objects in namespaces of a tree by those of the same name above them.\n"+
			"To see which first, switch to 'Remove'. If you are sure, use the '--force' flag.", o.resource, mode)
	}
	resources[i].Mode = mode
	return resources, ""
}

// normalMode takes a mode in capitals or small letters. One that is not known is
// left to the API server to refuse.
func normalMode(typed string) hncv1alpha2.SynchronizationMode {
	if typed == "" {
		return hncv1alpha2.ModePropagate // what no mode means in the object
	}
	for _, m := range modes {
		if strings.EqualFold(string(m), typed) {
			return m
		}
	}
	return hncv1alpha2.SynchronizationMode(typed)
}
