// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

const statusHelp = `Show how RootSyncs are doing, those that are named or all of the cluster: what each
syncs, the commit that was last synced and behind an arrow a newer one, its state,
and how long ago its state last changed.

Below the table is a line for each that is not well: what is wrong, and what to do.

  Synced      what the source says is in the cluster
  Syncing     a commit is fetched, rendered or applied; so many objects are done
  Failed      it has ended with errors; what they do not concern is applied
  Stalled     nothing goes on until the RootSync itself is mended
  Pending     nobody has looked at it, or at how it is now
  Suspended   nothing goes on until it is resumed
  Deleting    it goes

The exit code is 0 if all of them are synced, and 1 otherwise. With --wait it waits
until they are. That is about the commit that is known: to wait for one that was
just pushed, use "sync now".`

const statusExample = `  # All RootSyncs of the cluster
  kubectl holdfast sync status

  # Follow one of them
  kubectl holdfast sync status shop -w

  # Wait until all are synced, ten minutes at most
  kubectl holdfast sync status --wait --timeout=10m`

// What --timeout is, of each command that has it.
const (
	defaultWait     = 5 * time.Minute
	timeoutUsage    = "How long to wait at most"
	timeoutPositive = "--timeout is a duration such as 5m, and more than nothing"
)

const (
	formatWide = "wide"
	formatName = "name"
)

var statusFormats = []string{formatWide, formatName, ui.JSON, ui.YAML}

// statusOptions are what the command line of status says.
type statusOptions struct {
	names   []string
	watch   bool
	wait    bool
	timeout time.Duration
	output  string
}

func newStatusCommand(c *client) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:               "status [NAME...]",
		Short:             "Show how RootSyncs are doing, and what is wrong",
		Long:              statusHelp,
		Example:           statusExample,
		ValidArgsFunction: c.completeSyncs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if err := o.validate(); err != nil {
				return err
			}
			return c.status(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.watch, "watch", "w", false, "Go on with what changes")
	flags.BoolVar(&o.wait, "wait", false, "Wait until they are synced")
	flags.DurationVar(&o.timeout, "timeout", defaultWait, timeoutUsage)
	addOutputFlag(cmd, &o.output, statusFormats)
	return cmd
}

func (o *statusOptions) validate() error {
	switch {
	case o.timeout <= 0:
		return usage(timeoutPositive)
	case o.watch && o.wait:
		return usage("--watch does not end and --wait does: leave one out")
	case o.watch && o.output != "" && o.output != formatWide:
		return usage("--watch shows a table: leave -o %s out", o.output)
	}
	return validOutput(o.output, statusFormats)
}

func (c *client) status(ctx context.Context, o *statusOptions) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	now, err := c.read(ctx, client)
	if err != nil {
		return err
	}
	items, err := now.items(o.names)
	if err != nil {
		return err
	}
	if o.watch {
		return c.watchStatus(ctx, client, o)
	}
	if o.wait && !allSynced(items) {
		if items, err = c.waitStatus(ctx, client, o, items); err != nil {
			return err
		}
	}
	if err := c.printStatus(o.output, items, time.Now()); err != nil {
		return err
	}
	if o.wait && !allSynced(items) {
		c.Notef("not all were synced within %s", text.Duration(o.timeout))
	}
	return verdict(items)
}

// waitStatus waits until all are synced, and says how they are then or when the time is up.
func (c *client) waitStatus(ctx context.Context, client dynamic.Interface, o *statusOptions, items []item) ([]item, error) {
	err := until(ctx, client, o.timeout, func(now snapshot) (bool, error) {
		var err error
		if items, err = now.items(o.names); err != nil {
			return true, err
		}
		c.Transient(waitingFor(items))
		return allSynced(items), nil
	})
	c.Transient("")
	if errors.Is(err, errNotInTime) {
		err = nil
	}
	return items, err
}

// verdict is the exit code about RootSyncs, of which everything has been said.
func verdict(items []item) error {
	if allSynced(items) {
		return nil
	}
	return ErrReported
}

func allSynced(items []item) bool {
	return !slices.ContainsFunc(items, func(i item) bool { return i.State != synced })
}

// waitingFor says on one line how far it is.
func waitingFor(items []item) string {
	done, first := 0, ""
	for i := range items {
		switch {
		case items[i].State == synced:
			done++
		case first == "":
			first = items[i].Name + " " + items[i].word()
		}
	}
	return fmt.Sprintf("%d of %d synced; %s", done, len(items), first)
}
