// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// ownListOptions are what the command line of a command that lists one of
// Holdfast's own kinds says.
type ownListOptions struct {
	names  []string
	output string
}

var ownListFormats = []string{"name", ui.JSON, ui.YAML}

func newOverrideListCommand(c *clients, runF func(*ownListOptions) error) *cobra.Command {
	o := &ownListOptions{}
	cmd := &cobra.Command{
		Use:   "list [NAME...]",
		Short: "List the overrides",
		Long: `List the overrides, of the whole cluster: what they are for, where they stand, who
asked, who approved, when they end, and why.

-o json and -o yaml give the DeletionOverrides as the API server has them.`,
		ValidArgsFunction: c.completeNames(overridesKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if err := validateOutput(o.output, ownListFormats); err != nil {
				return err
			}
			return orTest(c.listOverrides, runF)(cmd.Context(), o)
		},
	}
	addOutputFlag(cmd, &o.output, ownListFormats)
	return cmd
}

func (c *clients) listOverrides(ctx context.Context, o *ownListOptions) error {
	list, err := c.listNamed(ctx, overridesKind, o.names)
	if err != nil {
		return err
	}
	if o.output != "" {
		return c.printOwn(o.output, list)
	}
	all, err := convert[v1alpha1.DeletionOverride](list.Items)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		c.Notef("No overrides found.")
		return nil
	}
	c.printOverrides(all, time.Now())
	return nil
}

// listNamed lists one of Holdfast's own kinds, or the objects of it that are
// named; it is an error if one is missing.
func (c *clients) listNamed(ctx context.Context, k kind, names []string) (*unstructured.UnstructuredList, error) {
	list, err := c.listAll(ctx, k)
	if err != nil || len(names) == 0 {
		return list, err
	}
	var found []unstructured.Unstructured
	for _, name := range names {
		i := slices.IndexFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetName() == name })
		if i < 0 {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: k.Group, Resource: k.Resource}, name)
		}
		found = append(found, list.Items[i])
	}
	list.Items = found
	return list, nil
}

// printOwn prints objects as the API server has them.
func (c *clients) printOwn(output string, list *unstructured.UnstructuredList) error {
	if output != "name" {
		for i := range list.Items {
			list.Items[i].SetManagedFields(nil) // as kubectl does
		}
		return c.Encode(output, list)
	}
	for i := range list.Items {
		if err := (&printers.NamePrinter{ShortOutput: true}).PrintObj(&list.Items[i], c.Out); err != nil {
			return err
		}
	}
	return nil
}

// phaseOrder puts what can be acted on first.
var phaseOrder = []v1alpha1.OverridePhase{v1alpha1.OverrideWaiting, v1alpha1.OverrideActive, ""}

func (c *clients) printOverrides(all []v1alpha1.DeletionOverride, now time.Time) {
	rank := func(o v1alpha1.DeletionOverride) int {
		if i := slices.Index(phaseOrder, o.Status.Phase); i >= 0 {
			return i
		}
		return len(phaseOrder)
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.DeletionOverride) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Name, b.Name))
	})
	var lines [][]ui.Cell
	for _, o := range all {
		lines = append(lines, []ui.Cell{
			ui.Text(o.Name),
			ui.Text(shortTarget(o)),
			{Text: orNone(string(o.Status.Phase)), Style: phaseStyle(o.Status.Phase)},
			ui.Text(o.Spec.RequestedBy),
			ui.Text(orNone(o.Spec.ApprovedBy)),
			ui.Text(expires(o, now)),
			ui.Text(o.Spec.Reason),
		})
	}
	c.Table([]string{"NAME", "TARGET", "PHASE", "REQUESTED-BY", "APPROVED-BY", "EXPIRES", "REASON"}, lines)
}

// shortTarget is the target in a column: shop/deployment/web.
func shortTarget(o v1alpha1.DeletionOverride) string {
	t := o.Spec.Target
	out := strings.ToLower(t.Kind) + "/" + ui.Name(t.Name)
	if t.Namespace != "" {
		out = ui.Name(t.Namespace) + "/" + out
	}
	if o.Spec.IncludeContents {
		out += " (with contents)"
	}
	return out
}

func expires(o v1alpha1.DeletionOverride, now time.Time) string {
	at := o.Status.ExpiresAt
	switch {
	case at == nil:
		return orNone("")
	case o.Status.Phase != v1alpha1.OverrideActive:
		return at.UTC().Format(timeFormat)
	case at.Time.Before(now):
		return "now"
	}
	return fmt.Sprintf("in %s", duration.HumanDuration(at.Sub(now)))
}

func phaseStyle(p v1alpha1.OverridePhase) ui.Style {
	switch p {
	case v1alpha1.OverrideActive:
		return ui.Good
	case v1alpha1.OverrideWaiting:
		return ui.Bold
	case v1alpha1.OverrideInvalid:
		return ui.Bad
	}
	return ui.Plain
}
