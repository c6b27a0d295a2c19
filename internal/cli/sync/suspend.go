// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"

	"github.com/spf13/cobra"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

// valueTrue is the value of the annotation that suspends.
const valueTrue = "true"

const suspendHelp = `Suspend RootSyncs: nothing is fetched or applied, what somebody changes is not put
back, and nothing is deleted, until they are resumed. It sets the annotation
holdfast.dev/suspend, which Config Sync does not know.

Their objects stay as they are, and stay theirs. A RootSync that is declared in Git with
the annotation is resumed there.`

const resumeHelp = `Resume RootSyncs that are suspended: what the source says is synced, and what was changed
meanwhile is put back. It takes the annotation holdfast.dev/suspend off.`

// suspension is one of two commands.
type suspension struct {
	suspend bool
	names   []string
	all     bool
}

func newSuspendCommand(c *client) *cobra.Command {
	return newSuspensionCommand(c, &suspension{suspend: true}, &cobra.Command{
		Use:   "suspend {NAME...|--all}",
		Short: "Have RootSyncs change nothing until they are resumed",
		Long:  suspendHelp,
		Example: `  # Mend something by hand, without it being put back
  kubectl holdfast sync suspend shop`,
	})
}

func newResumeCommand(c *client) *cobra.Command {
	return newSuspensionCommand(c, &suspension{}, &cobra.Command{
		Use:     "resume {NAME...|--all}",
		Short:   "Have suspended RootSyncs go on",
		Long:    resumeHelp,
		Example: `  kubectl holdfast sync resume shop`,
	})
}

func newSuspensionCommand(c *client, o *suspension, cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = c.completeSyncs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.names = args
		if err := someOrAll(o.names, o.all); err != nil {
			return err
		}
		return c.changeSuspension(cmd.Context(), o)
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "All RootSyncs of the cluster")
	return cmd
}

func (c *client) changeSuspension(ctx context.Context, o *suspension) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	all, err := list(ctx, client)
	if err != nil {
		return err
	}
	syncs, err := named(all, o.names)
	if err != nil {
		return err
	}
	change, value, said := o.plan(syncs)
	if err := annotate(ctx, client, change, configsyncv1beta1.AnnotationSuspend, value); err != nil {
		return err
	}
	if len(said) == 0 {
		c.Notef("There are no RootSyncs.")
	}
	for _, line := range said {
		c.Line(line)
	}
	return nil
}

// plan says which are to be changed and to what, with a line about each.
func (o *suspension) plan(syncs []configsyncv1beta1.RootSync) (change []string, value any, said []string) {
	already, done := " is not suspended", " resumed"
	if o.suspend {
		value, already, done = valueTrue, " is suspended already", " suspended"
	}
	for i := range syncs {
		name := syncs[i].Name
		if asksForSuspension(&syncs[i]) == o.suspend {
			said = append(said, reference(name)+already)
			continue
		}
		change = append(change, name)
		said = append(said, reference(name)+done)
	}
	return change, value, said
}
