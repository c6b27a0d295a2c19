// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	matching "github.com/holdfast-dev/holdfast/internal/deletion/selection"
)

// protections is a command of its own beside protected: that one lists objects,
// with whatever protects them; this one lists the rules that select objects, and
// says whether each does what it says.
func newProtectionsCommand(c *clients, runF func(*protectionsOptions) error) *cobra.Command {
	o := &protectionsOptions{}
	cmd := &cobra.Command{
		Use:   "protections [NAME]",
		Short: "List the ResourceDeletionProtections and whether they are in force",
		Long: `List the ResourceDeletionProtections: how they protect, how many objects they
select, how many deletions they have refused (- where no API server tells
Holdfast), whether all that they select is protected, and why they are there.
"kubectl holdfast protected" lists the objects.

With a NAME: what it selects of each kind, the kinds that are not protected, with
the reason, and the objects that carry its mark.

-o json and -o yaml give the ResourceDeletionProtections as the API server has
them.`,
		Example: `  # Which protections are there, and are they in force?
  kubectl holdfast protections

  # What does this one protect, and what not?
  kubectl holdfast protections shop-data`,
		ValidArgsFunction: c.completeNames(protectionsKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if err := o.validate(); err != nil {
				return err
			}
			return orTest(c.listProtections, runF)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.everything, "all", false, "With a NAME: show all objects, and not only the first few of each kind")
	addOutputFlag(cmd, &o.output, ownListFormats)
	return cmd
}

// protectionsOptions are what the command line of protections says.
type protectionsOptions struct {
	ownListOptions
	everything bool
}

func (o *protectionsOptions) validate() error {
	if len(o.names) > 1 {
		return usageError{errors.New("say one NAME, or none for all protections")}
	}
	return validateOutput(o.output, ownListFormats)
}

func (c *clients) listProtections(ctx context.Context, o *protectionsOptions) error {
	list, err := c.listNamed(ctx, protectionsKind, o.names)
	if err != nil {
		return err
	}
	if o.output != "" {
		return c.printOwn(o.output, list)
	}
	all, err := convert[v1alpha1.ResourceDeletionProtection](list.Items)
	switch {
	case err != nil:
		return err
	case len(o.names) == 1:
		return c.describeProtection(ctx, &all[0], o.everything)
	case len(all) == 0:
		c.Notef("No protections found.")
	default:
		c.printProtections(all)
	}
	return nil
}

func (c *clients) printProtections(all []v1alpha1.ResourceDeletionProtection) {
	slices.SortFunc(all, func(a, b v1alpha1.ResourceDeletionProtection) int { return strings.Compare(a.Name, b.Name) })
	var lines [][]ui.Cell
	for i := range all {
		p := &all[i]
		ready, style := readyText(p)
		lines = append(lines, []ui.Cell{
			ui.Text(p.Name), ui.Text(string(modeOfProtection(p))), ui.Text(matchesText(p)), ui.Text(denialsText(p)), {Text: ready, Style: style}, ui.Text(orNone(p.Spec.Reason)),
		})
	}
	c.Table([]string{"NAME", "MODE", "MATCHES", "DENIALS", "READY", "REASON"}, lines)
}

func modeOfProtection(p *v1alpha1.ResourceDeletionProtection) v1alpha1.ProtectionMode {
	return cmp.Or(p.Spec.Mode, v1alpha1.ModeAlways)
}

// observed says whether the status is about the spec.
func observed(p *v1alpha1.ResourceDeletionProtection) bool {
	return p.Status.ObservedGeneration == p.Generation && len(p.Status.Conditions) > 0
}

func matchesText(p *v1alpha1.ResourceDeletionProtection) string {
	if !observed(p) {
		return "<unknown>"
	}
	return fmt.Sprint(p.Status.Matches.Total)
}

// denialsText is how many deletions were refused, where an API server tells
// Holdfast.
func denialsText(p *v1alpha1.ResourceDeletionProtection) string {
	if p.Status.Denials == nil {
		return "-"
	}
	return fmt.Sprint(p.Status.Denials.Count)
}

// readyText says whether all that is selected is protected, and if not why.
func readyText(p *v1alpha1.ResourceDeletionProtection) (string, ui.Style) {
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil || !observed(p):
		return "Unknown", ui.Warn
	case ready.Status == metav1.ConditionTrue:
		return string(ready.Status), ui.Good
	}
	return string(ready.Status) + ": " + ready.Reason, ui.Bad
}

// describeProtection prints all about one protection.
func (c *clients) describeProtection(ctx context.Context, p *v1alpha1.ResourceDeletionProtection, everything bool) error {
	ready, style := readyText(p)
	c.Printf("%s\n\n", c.Paint(ui.Bold, "resourcedeletionprotections."+v1alpha1.GroupName+"/"+p.Name))
	c.fact("mode", string(modeOfProtection(p)))
	c.fact("reason", orNone(p.Spec.Reason))
	if p.Spec.Message != "" {
		c.fact("message", p.Spec.Message)
	}
	c.Printf("  %-13s  %s\n", "ready", c.Paint(style, ready))
	if condition := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); condition != nil {
		c.fact("", condition.Message)
	}
	c.fact("matches", matchesText(p))
	for _, k := range p.Status.Matches.Kinds {
		c.fact("", fmt.Sprintf("%d %s", k.Count, schema.GroupKind{Group: k.Group, Kind: k.Kind}))
	}
	denials := denialsText(p)
	if d := p.Status.Denials; d != nil && d.Last != nil {
		denials += ", last " + d.Last.UTC().Format(time.RFC3339)
	}
	c.fact("denials", denials)
	var not []string
	for _, u := range p.Status.Unenforceable {
		not = append(not, fmt.Sprintf("%s: %s: %s", schema.GroupKind{Group: u.Group, Kind: u.Kind}, u.Reason, u.Message))
	}
	c.bullets("not protected", not)

	found, problems := c.markedBy(ctx, p)
	c.Printf("\nobjects that carry its mark: %d\n", len(found))
	c.printMarked(found, everything)
	for _, err := range problems {
		c.Error(err)
	}
	if len(problems) > 0 {
		return errReported
	}
	return nil
}

func (c *clients) printMarked(found []target, everything bool) {
	nodes := make([]node, 0, len(found))
	for _, t := range found {
		nodes = append(nodes, node{objectRef: refOf(t)})
	}
	slices.SortStableFunc(nodes, compareNodes)
	var branches []branch
	for _, group := range byResource(nodes) {
		b := branch{text: fmt.Sprintf("%s: %d", resourceOf(group[0]), len(group))}
		shown, more := someOf(group, everything)
		for _, n := range shown {
			name := ui.Name(n.Name)
			if n.Namespace != "" {
				name = n.Namespace + "/" + name
			}
			b.branches = append(b.branches, branch{text: name})
		}
		b.branches = append(b.branches, more...)
		branches = append(branches, b)
	}
	c.printTree("  ", branches)
}

// markedBy finds the objects that carry the mark of a protection, of the kinds
// that it names. A mark that stands for several protections does not name them:
// there the protection is asked whether it selects the object.
func (c *clients) markedBy(ctx context.Context, p *v1alpha1.ResourceDeletionProtection) ([]target, []error) {
	asked, err := matching.New(p)
	if err != nil {
		return nil, []error{err}
	}
	set := matching.NewSet()
	set.Put(asked)
	mark := v1alpha1.ProtectedByMark
	if asked.Mode == v1alpha1.ModeCascading {
		mark = v1alpha1.ProtectedWhileUsedByMark
	}
	kinds, problems := c.kinds(kindFilter{verbs: guardedVerbs, clusterScoped: true})
	var queries []query
	for _, k := range kinds {
		if set.Names(k.groupKind()) {
			queries = append(queries, query{kind: k, selector: mark})
		}
	}
	namespaces := map[string]map[string]string{}
	if slices.ContainsFunc(asked.Selectors, func(s matching.Selector) bool { return s.Namespaces != nil }) {
		problems = append(problems, c.sweep(ctx, []query{{kind: namespacesKind}}, func(_ query, o *metav1.PartialObjectMetadata) {
			namespaces[o.Name] = o.Labels
		})...)
	}
	var found []target
	seen := map[types.UID]bool{}
	problems = append(problems, c.sweep(ctx, queries, func(q query, o *metav1.PartialObjectMetadata) {
		value := v1alpha1.MarkOf(o, mark)
		several := strings.HasSuffix(value, v1alpha1.SeveralProtections) && len(set.Match(q.kind.groupKind(), o, namespaces[o.Namespace])) > 0
		if !seen[o.UID] && (value == p.Name || several) {
			seen[o.UID] = true
			found = append(found, newTarget(q.kind, o))
		}
	})...)
	return found, problems
}
