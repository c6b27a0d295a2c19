// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// parallelism is how many requests a command has under way at most.
const parallelism = 16

const nowHelp = `Have RootSyncs sync at once: fetch, render and apply what the source says now, instead
of when their period is over. It sets the annotation holdfast.dev/sync-now.

It waits until that is done, and shows how they are doing then. The exit code is 0
if all of them are synced, and 1 otherwise. Config Sync does not know the annotation,
and does not answer.`

const nowExample = `  # Sync what was just pushed, and wait for it
  git push && kubectl holdfast sync now shop

  # Sync all, and do not wait
  kubectl holdfast sync now --all --wait=false`

// nowOptions are what the command line of now says.
type nowOptions struct {
	names   []string
	all     bool
	wait    bool
	timeout time.Duration
}

func newNowCommand(c *client) *cobra.Command {
	o := &nowOptions{}
	cmd := &cobra.Command{
		Use:               "now {NAME...|--all}",
		Short:             "Have RootSyncs sync at once, and wait for it",
		Long:              nowHelp,
		Example:           nowExample,
		ValidArgsFunction: c.completeSyncs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if err := someOrAll(o.names, o.all); err != nil {
				return err
			}
			if o.timeout <= 0 {
				return usage(timeoutPositive)
			}
			return c.now(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "All RootSyncs of the cluster but those that are suspended")
	flags.BoolVar(&o.wait, "wait", true, "Wait until that is done")
	flags.DurationVar(&o.timeout, "timeout", defaultWait, timeoutUsage)
	return cmd
}

func (c *client) now(ctx context.Context, o *nowOptions) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	all, err := list(ctx, client)
	if err != nil {
		return err
	}
	asked, skipped, err := askable(all, o.names)
	for _, why := range skipped {
		c.Notef("note: %s", why)
	}
	switch {
	case err != nil:
		return err
	case len(asked) == 0:
		c.Notef("There is nothing to sync.")
		return nil
	}
	value := time.Now().UTC().Format(time.RFC3339Nano)
	if err := annotate(ctx, client, asked, configsyncv1beta1.AnnotationSyncNow, value); err != nil {
		return err
	}
	if !o.wait {
		for _, name := range asked {
			c.Printf("%s asked to sync\n", reference(name))
		}
		return nil
	}
	return c.await(ctx, client, asked, value, o.timeout)
}

// askable are those of the RootSyncs that are named, or of all, that can sync now. Where
// one was named that cannot, that is an error.
func askable(all []configsyncv1beta1.RootSync, names []string) (asked, skipped []string, err error) {
	syncs, err := named(all, names)
	if err != nil {
		return nil, nil, err
	}
	for i := range syncs {
		why := ""
		switch stateOf(&syncs[i]) {
		case suspended:
			why = fmt.Sprintf("%s is suspended: resume it with 'kubectl holdfast sync resume %[1]s'", syncs[i].Name)
		case deleting:
			why = syncs[i].Name + " is being deleted"
		}
		switch {
		case why == "":
			asked = append(asked, syncs[i].Name)
		case len(names) > 0:
			return nil, nil, errors.New(why)
		default:
			skipped = append(skipped, why)
		}
	}
	return asked, skipped, nil
}

// annotate gives RootSyncs an annotation, or takes it from them where the value is nil.
func annotate(ctx context.Context, client dynamic.Interface, names []string, key string, value any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	for _, name := range names {
		group.Go(func() error {
			_, err := client.Resource(syncsResource).Namespace(object.SyncNamespace).
				Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
			return err
		})
	}
	return group.Wait()
}

// await waits until RootSyncs have answered, and says how they are then.
func (c *client) await(ctx context.Context, client dynamic.Interface, names []string, value string, limit time.Duration) error {
	var items []item
	var silent []string
	err := until(ctx, client, limit, func(now snapshot) (bool, error) {
		syncs, err := named(now.syncs, names)
		if err != nil {
			return true, err
		}
		items, err = now.items(names)
		silent = goingOn(syncs, value)
		c.Transient(fmt.Sprintf("%d of %d done; %s", len(names)-len(silent), len(names), firstOf(items, silent)))
		return len(silent) == 0, err
	})
	c.Transient("")
	if err != nil && !errors.Is(err, errNotInTime) {
		return err
	}
	if err := c.printStatus("", items, time.Now()); err != nil {
		return err
	}
	if len(silent) > 0 {
		c.Notef("error: not done within %s: %s; %s", text.Duration(limit), strings.Join(silent, ", "), unanswered)
		return ErrReported
	}
	return verdict(items)
}

// goingOn are those that have not ended a sync since they were asked, and still may.
func goingOn(syncs []configsyncv1beta1.RootSync, value string) []string {
	var out []string
	for i := range syncs {
		rs := &syncs[i]
		if rs.Annotations[configsyncv1beta1.AnnotationSyncNowDone] == value ||
			slices.Contains([]state{stalled, suspended, deleting}, stateOf(rs)) {
			continue
		}
		out = append(out, rs.Name)
	}
	return out
}

func firstOf(items []item, names []string) string {
	i := slices.IndexFunc(items, func(i item) bool { return slices.Contains(names, i.Name) })
	if i < 0 {
		return ""
	}
	return items[i].Name + " " + items[i].word()
}
