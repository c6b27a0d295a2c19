// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const traceHelp = `Say where an object comes from: the RootSync that keeps it, the commit, the repository
and the file; who claims its namespace; and who owns fields of it beside the RootSync.

Of an object that no RootSync keeps it says so, and why: objects that controllers make
inherit the annotations of what they are made from.

The commit on an object is that for which it was last written. One that has not changed
since is as the RootSync's last commit says all the same.`

const traceExample = `  kubectl holdfast sync trace deploy web -n shop
  kubectl holdfast sync trace namespace/shop`

var traceFormats = []string{ui.JSON, ui.YAML}

// traceOptions are what the command line of trace says.
type traceOptions struct {
	args   []string
	output string
}

func newTraceCommand(c *client) *cobra.Command {
	o := &traceOptions{}
	cmd := &cobra.Command{
		Use:     "trace TYPE NAME",
		Short:   "Say which RootSync, commit and file an object comes from",
		Long:    traceHelp,
		Example: traceExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := validOutput(o.output, traceFormats); err != nil {
				return err
			}
			return c.trace(cmd.Context(), o)
		},
	}
	addOutputFlag(cmd, &o.output, traceFormats)
	return cmd
}

func (c *client) trace(ctx context.Context, o *traceOptions) error {
	info, err := c.one(o.args)
	if err != nil {
		return err
	}
	client, err := c.Metadata()
	if err != nil {
		return err
	}
	f, err := readFacts(ctx, client, info)
	if err != nil {
		return err
	}
	if f.sync, f.syncErr = KeeperOf(ctx, c.Clients, f.meta); f.syncErr != nil {
		c.Notef("note: the RootSync is not known: %v", f.syncErr)
	}
	if f.namespaceErr != nil {
		c.Notef("note: the namespace is not known: %v", f.namespaceErr)
	}
	found := originOf(f)
	if o.output != "" {
		return c.Encode(o.output, found)
	}
	for _, line := range found.text(time.Now()) {
		c.Line(ui.Continued(line, "               ")) // annotations are of others, and may have lines
	}
	return nil
}

// one is the object that the command line names.
func (c *client) one(args []string) (*resource.Info, error) {
	const want = "say one object: TYPE NAME or TYPE/NAME"
	if len(args) == 0 || len(args) > 2 {
		return nil, usage(want)
	}
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	infos, err := resource.NewBuilder(c.Flags).
		Unstructured().
		NamespaceParam(ns).DefaultNamespace().
		ResourceTypeOrNameArgs(false, args...).
		RequireObject(false).
		Do().Infos()
	switch {
	case err != nil:
		return nil, err
	case len(infos) != 1:
		return nil, usage(want)
	}
	return infos[0], nil
}

// readFacts reads the object, and its namespace for the claims on it.
func readFacts(ctx context.Context, client metadata.Interface, info *resource.Info) (*facts, error) {
	o, err := client.Resource(info.Mapping.Resource).Namespace(info.Namespace).Get(ctx, info.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	gk := info.Mapping.GroupVersionKind.GroupKind()
	f := &facts{id: object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: o.Namespace, Name: o.Name}, meta: o}
	switch {
	case f.id.IsNamespace():
		f.namespace = o
	case o.Namespace != "":
		f.namespace, f.namespaceErr = client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, o.Namespace, metav1.GetOptions{})
	}
	return f, nil
}

// KeeperOf is the RootSync that an object names; nil if it names none, or that is gone.
func KeeperOf(ctx context.Context, c *connect.Clients, o metav1.Object) (*configsyncv1beta1.RootSync, error) {
	name, ok := object.SyncOf(o.GetAnnotations()[object.AnnotationManager])
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	served, err := client.Resource(syncsResource).Namespace(object.SyncNamespace).Get(ctx, string(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it is gone
	}
	if err != nil {
		return nil, err
	}
	rs := &configsyncv1beta1.RootSync{}
	return rs, decode(served, rs)
}

// facts are what is known about an object.
type facts struct {
	id   object.ID
	meta *metav1.PartialObjectMetadata
	// sync is the RootSync that its annotations name, nil if there is none.
	sync    *configsyncv1beta1.RootSync
	syncErr error
	// namespace is its own or, if it is one, itself.
	namespace    *metav1.PartialObjectMetadata
	namespaceErr error
}
