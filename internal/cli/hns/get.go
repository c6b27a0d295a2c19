// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// getOptions are what the command line of get says.
type getOptions struct {
	resource   string
	all, watch bool
}

func newGetCommand(c *client) *cobra.Command {
	o := &getOptions{}
	cmd := &cobra.Command{
		Use:   "get RESOURCE",
		Short: "List the objects of a kind in a namespace and all below it",
		Long: `List the objects of a kind in a namespace, that of -n or of the kubeconfig, and in
all below it, as kubectl does. With --watch go on with what changes, also in
namespaces that come below it later.

It takes the right to list the kind in each of the namespaces. What cannot be
listed is named, and ends the command with exit code 1 after the rest.`,
		Example: `  kubectl hns get secrets -n acme
  kubectl hns get deployments.apps -n acme --watch`,
		Args:              oneArgument("a resource, such as secrets or deployments.apps"),
		ValidArgsFunction: c.completeResources(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.resource = args[0]
			return c.get(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "List the objects of the whole cluster, as kubectl get -A")
	flags.BoolVarP(&o.watch, "watch", "w", false, "Go on with what changes")
	return cmd
}

func (c *client) get(ctx context.Context, o *getOptions) error {
	resource, err := c.resource(o.resource)
	if err != nil {
		return err
	}
	tables, err := c.tables(resource)
	if err != nil {
		return err
	}
	where := &extent{}
	if !o.all {
		if where, err = c.subtree(ctx); err != nil {
			return err
		}
	}
	found, err := c.collect(ctx, tables, where, o.watch)
	if err != nil {
		return err
	}
	p := newTablePrinter(c.Out)
	if err := p.print(found.columns, found.rows); err != nil {
		return err
	}
	for _, problem := range found.problems {
		c.Error(problem)
	}
	if o.watch {
		return c.watch(ctx, tables, where, found, p)
	}
	return c.conclude(where, found)
}

// conclude says what a table does not.
func (c *client) conclude(where *extent, found *listing) error {
	switch {
	case len(found.problems) > 0:
		return ErrTold
	case len(found.rows) > 0:
	case where.everywhere():
		c.Notef("No resources found")
	default:
		c.Notef("No resources found in namespace %s and those below it.", where.root)
	}
	return nil
}

// resource is what a person means by secrets, deploy or crontabs.stable.example.com.
func (c *client) resource(typed string) (schema.GroupVersionResource, error) {
	none := schema.GroupVersionResource{}
	mapper, err := c.Flags.ToRESTMapper()
	if err != nil {
		return none, err
	}
	full, short := schema.ParseResourceArg(typed)
	gvk := schema.GroupVersionKind{}
	if full != nil {
		gvk, _ = mapper.KindFor(*full)
	}
	if gvk.Empty() {
		if gvk, err = mapper.KindFor(short.WithVersion("")); err != nil {
			return none, err
		}
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return none, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return none, UsageError{fmt.Errorf("%s are not in namespaces; use: kubectl get %s", mapping.Resource.Resource, typed)}
	}
	return mapping.Resource, nil
}

// listing is what was found, and from where to watch on.
type listing struct {
	columns []metav1.TableColumnDefinition
	rows    []metav1.TableRow
	// versions are those of the lists, by namespace; "" is one of the whole
	// cluster, and then there is no other.
	versions map[string]string
	problems []error
}

func (l *listing) add(namespace string, t *metav1.Table) {
	if l.columns == nil {
		l.columns = t.ColumnDefinitions
	}
	l.rows = append(l.rows, t.Rows...)
	l.versions[namespace] = t.ResourceVersion
}

// known are the versions of the objects, by namespace.
func (l *listing) known() map[string]versions {
	out := map[string]versions{}
	for ns := range l.versions {
		out[ns] = versions{}
	}
	for i := range l.rows {
		m := rowMeta(&l.rows[i])
		if out[m.Namespace] == nil {
			out[m.Namespace] = versions{}
		}
		out[m.Namespace][m.UID] = m.ResourceVersion
	}
	return out
}
