// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/holdfast-dev/holdfast/internal/cli/builtin"
	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
	"github.com/holdfast-dev/holdfast/internal/rootsync/render"
)

const vetHelp = `Check a folder as a RootSync would that syncs it: render it if it has a kustomization,
read all files, and look for what would keep it from being synced. DIR is the root of
the repository, and --dir the folder in it, as in a RootSync.

No cluster is asked. The kinds that are known are those of Kubernetes, of Holdfast, and
of the CustomResourceDefinitions in the folder; of others it cannot be told whether
there is such a kind, and whether its objects are in namespaces, which is a warning.
With --server the cluster is asked, and a kind that it does not serve is an error.

What depends on what, and RootSyncs in the folder, are looked at once nothing else is
wrong. Fields of objects are not: the API server knows them.

The exit code is 0 if nothing was found, and 1 otherwise. Warnings do not count.`

const vetExample = `  # Check what RootSync shop syncs, before it is pushed
  kubectl holdfast sync vet . --dir clusters/prod --name shop

  # With the kinds that a cluster serves
  kubectl holdfast sync vet . --dir clusters/prod --server --context prod`

var vetFormats = []string{ui.JSON, ui.YAML}

// vetOptions are what the command line of vet says.
type vetOptions struct {
	root, dir, name string
	server          bool
	output          string
}

func newVetCommand(c *client) *cobra.Command {
	o := &vetOptions{}
	cmd := &cobra.Command{
		Use:     "vet DIR",
		Short:   "Check a folder before it is pushed",
		Long:    vetHelp,
		Example: vetExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("say one folder, such as .")
			}
			o.root = args[0]
			if err := validOutput(o.output, vetFormats); err != nil {
				return err
			}
			return c.vet(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", ".", "The folder to check, relative to DIR")
	flags.StringVar(&o.name, "name", "", "The RootSync that syncs it, which must not declare itself")
	flags.BoolVar(&o.server, "server", false, "Ask the cluster which kinds there are")
	addOutputFlag(cmd, &o.output, vetFormats)
	return cmd
}

func (c *client) vet(ctx context.Context, o *vetOptions) error {
	if info, err := os.Stat(o.root); err != nil {
		return err
	} else if !info.IsDir() {
		return usage("%s is a file: say the folder that is the root of the repository", o.root)
	}
	var scopes parse.Scopes = builtin.Scopes{}
	if o.server {
		served, err := c.served()
		if err != nil {
			return err
		}
		scopes = served
	}
	files, rendered, problem := render.New(render.Options{}).Render(ctx, render.Tree{Dir: o.root, WorkTree: true}, o.dir)
	r := report{TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "VetReport"}, Files: len(files), Rendered: rendered}
	if problem != nil {
		r.Findings = findingsOf([]*knv.Error{problem})
	} else {
		r.look(parse.Parse(files, scopes), object.Sync(o.name), o.server)
	}
	if o.output != "" {
		if err := c.Encode(o.output, r); err != nil {
			return err
		}
	} else {
		c.printReport(&r)
	}
	if len(r.Findings) > 0 {
		return ErrReported
	}
	return nil
}

func (c *client) printReport(r *report) {
	for _, f := range r.Findings {
		c.Line(f.String())
	}
	for _, w := range r.UnknownKinds {
		c.Notef("warning: %s", w)
	}
	if note := r.namespacesNote(); note != "" {
		c.Notef("note: %s", note)
	}
	c.Line(r.summary())
}

// served asks the API server which kinds there are, never the cache on disk.
func (c *client) served() (preview.Kinds, error) {
	client, err := c.Flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	client.Invalidate()
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		if !discovery.IsGroupDiscoveryFailedError(err) {
			return nil, fmt.Errorf("ask the cluster which kinds there are: %w", err)
		}
		c.Notef("warning: not all kinds of the cluster are known: %v", err)
	}
	return servedBy(lists), nil
}

// servedBy are the kinds of a cluster, each in the version that is listed first.
func servedBy(lists []*metav1.APIResourceList) preview.Kinds {
	out := preview.Kinds{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // not a kind that any client could ask for
		}
		for _, r := range list.APIResources {
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			if _, known := out[gk]; !known && !strings.Contains(r.Name, "/") {
				out[gk] = preview.Kind{Resource: gv.WithResource(r.Name), Namespaced: r.Namespaced}
			}
		}
	}
	return out
}
