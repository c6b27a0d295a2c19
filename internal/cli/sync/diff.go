// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/fetch"
	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
	"github.com/holdfast-dev/holdfast/internal/rootsync/render"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

const diffHelp = `Show what the next sync of a RootSync would change. Nothing is written: what would be
is given to the API server as a dry run.

The source is fetched as the sync does, in the newest commit, with the credentials of
the Secret that the RootSync names. Who may not read that, or cannot reach the server,
says --from DIR: a checkout, whose folder of the RootSync is rendered here.

For each object it says what would happen, and why:

  create, update, delete   it would be written; with a diff, but for what goes
  release                  it would be let go of, and left as it is
  claim                    on a namespace: who claims it would be written down
  keep                     it should go, and something is in the way
  conflict                 it is another's
  wait                     something is not there yet
  fail                     the API server would refuse it
  unknown                  you may not look, or try

All is asked in your name, and not in that of the RootSync's account. With --as that of
the account it shows what that may do: system:serviceaccount:config-management-system:
root-reconciler-NAME. What other RootSyncs declare is taken from their inventories. The
content of Secrets is not shown.

The exit code is 0 if nothing would change and 1 if something would. It is 2 if it failed,
if something would fail, or if not everything could be looked at.

-o json and -o yaml give a SyncDiff: rootSync, commit, items (action, apiVersion, kind,
namespace, name, path, reason), and notes.`

const diffExample = `  # What would the newest commit change?
  kubectl holdfast sync diff shop

  # What would my working copy change, before it is pushed?
  kubectl holdfast sync diff shop --from .`

var diffFormats = []string{ui.JSON, ui.YAML}

// diffOptions are what the command line of diff says.
type diffOptions struct {
	name, from, output string
}

func newDiffCommand(c *client) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:               "diff NAME",
		Short:             "Show what the next sync of a RootSync would change",
		Long:              diffHelp,
		Example:           diffExample,
		ValidArgsFunction: c.completeSyncs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("say one RootSync")
			}
			o.name = args[0]
			if err := validOutput(o.output, diffFormats); err != nil {
				return err
			}
			if ns := *c.Flags.Namespace; ns != "" && ns != object.SyncNamespace {
				return usage("RootSyncs are in namespace %s, and not in %s", object.SyncNamespace, ns)
			}
			return c.diff(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.from, "from", "", "A checkout of the source, in place of what is fetched")
	addOutputFlag(cmd, &o.output, diffFormats)
	return cmd
}

// diff has its own exit codes: what fails is no difference.
func (c *client) diff(ctx context.Context, o *diffOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // what was fetched is taken away
	defer stop()
	d, err := c.look(ctx, o)
	if err != nil {
		return DiffError{err}
	}
	if o.output != "" {
		err = c.Encode(o.output, d.encoded())
	} else {
		err = c.printDiff(d)
	}
	switch {
	case err != nil:
		return DiffError{err}
	case d.result.Failures() > 0:
		return DiffError{ErrReported}
	case d.result.Writes() > 0:
		return ErrReported
	}
	return nil
}

// look finds out what would change.
func (c *client) look(ctx context.Context, o *diffOptions) (*difference, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	found, err := about(ctx, client, o.name)
	if err != nil {
		return nil, err
	}
	settings, wrong := spec.Read(found.sync)
	if wrong != nil {
		return nil, wrong
	}
	kinds, err := c.served()
	if err != nil {
		return nil, err
	}
	from, err := c.checkout(ctx, client, settings, o.from)
	if err != nil {
		return nil, err
	}
	defer from.Done()
	d := &difference{name: o.name, commit: from.Commit, exact: settings.ExactStamps && from.Commit != ""}
	read, err := c.declared(ctx, from, settings, kinds, found.inventory)
	if err != nil {
		return nil, err
	}
	in := &preview.Input{
		Sync: object.Sync(o.name), Created: found.sync.CreationTimestamp.Time, Explicit: settings.ExplicitNamespaces,
		Version: object.Version{Commit: from.Commit, Context: settings.Source.Context()}, Exact: d.exact,
		Declared: read.Objects, Withheld: read.Withheld, Refused: read.Refused, Inventory: found.inventory, Others: found.others, Kinds: kinds,
		Scope: found.scope, Unclaimed: found.unclaimed, Reach: settings.Reach(), Now: time.Now(),
	}
	api, err := c.api()
	if err != nil {
		return nil, err
	}
	c.Transient("asking the API server what would change")
	d.result, err = preview.Run(ctx, in, api)
	c.Transient("")
	if err != nil {
		return nil, err
	}
	d.result.Changes = append(d.result.Changes, withheld(read)...)
	d.result.Notes = append(d.result.Notes, found.notes...)
	d.warnings = found.warnings(settings)
	if settings.ExactStamps && !d.exact {
		d.warnings = append(d.warnings, "with --from the commit is not known, which would be written on each object")
	}
	return d, nil
}

// declared is what the files say. What stops the commit as a whole is told, and an error.
func (c *client) declared(ctx context.Context, from *fetch.Checkout, settings spec.Settings, kinds preview.Kinds, inventory []object.ID) (parse.Result, error) {
	files, _, wrong := render.New(render.Options{}).Render(ctx, render.Tree{Commit: from.Commit, Dir: from.Dir, WorkTree: true}, settings.Source.Dir)
	if wrong != nil {
		return parse.Result{}, wrong
	}
	read := parse.Parse(files, kinds)
	all := read.Declared()
	errs := parse.CRDsInUse(kinds.Defines(inventory), all)
	if wrong := parse.Declares(all, settings.Sync); wrong != nil {
		errs = append(errs, wrong)
	}
	if !read.Blocked && len(errs) == 0 {
		return read, nil
	}
	for _, f := range findingsOf(knv.Sorted(append(errs, read.Errors...))) {
		c.Notef("error: %s", f)
	}
	c.Notef("The next sync would change nothing: the commit cannot be applied.")
	return parse.Result{}, ErrReported
}

// withheld are the objects of kinds that nobody serves, and those that are refused.
func withheld(read parse.Result) []preview.Change {
	var out []preview.Change
	for _, d := range read.Withheld {
		out = append(out, preview.Change{
			Action: preview.Fail, ID: d.ID(), APIVersion: d.Object.GetAPIVersion(), Path: d.Path,
			Reason: "nobody serves its kind, of which nothing is deleted meanwhile",
		})
	}
	for _, d := range read.Refused {
		out = append(out, preview.Change{
			Action: preview.Fail, ID: d.ID(), APIVersion: d.Object.GetAPIVersion(), Path: d.Path, Reason: "it has a selector, or is in a Namespace with one, and stays as it is",
		})
	}
	return out
}

// folder says whether DIR can be a checkout.
func folder(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return usage("%s is a file: say the folder that is the root of the source", dir)
	}
	return err
}
