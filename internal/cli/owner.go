// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/owner"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	evictionpolicy "github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

const ownerHelp = `Say whose an object is, and each of its fields.

The first line is the answer. It is, in this order: for a Namespace who owns it by
the claims on it; the RootSync that keeps the object, with commit and file, or for which
Holdfast keeps it; Holdfast itself; the source of which it is a propagated copy; what it belongs to by owner references, up to the top,
and whose that is; the tool that has left its marks (Flux, Argo CD, Helm); for a service
account the ServiceAccountTemplate that keeps it; or nobody.

Below it is only what there is to say: the RootSync, the namespace and the claims on it,
the tree, other tools' marks, what protects it from deletion, and who owns which fields.
What you may not read is named, and the rest is said all the same.

It reads metadata, never content: a Secret stays one. The exit code is 0 whatever the
answer is.

-o json and -o yaml give an Ownership: object, owner (by, name, how, text), source,
namespace (owner, why, claims), tree, copyOf, owners, keptBy (template, account, object),
waiting, tools, protection, fieldManagers with all their fields, and notLookedAt.`

// ownerOptions are what the command line of owner says.
type ownerOptions struct {
	selection
	output string
	fields bool
}

var ownerFormats = []string{ui.JSON, ui.YAML}

func newOwnerCommand(c *clients, runF func(*ownerOptions) error) *cobra.Command {
	o := &ownerOptions{}
	cmd := &cobra.Command{
		Use:   "owner (TYPE NAME | TYPE/NAME)",
		Short: "Say whose an object is, and each of its fields",
		Long:  ownerHelp,
		Example: `  # Who made this namespace, and who would make it again?
  kubectl holdfast owner namespace shop

  # Where does this come from, and who else writes to it?
  kubectl holdfast owner deploy web -n shop --fields`,
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			return orTest(c.owner, runF)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.fields, "fields", false, "Show all fields, by who owns them")
	addOutputFlag(cmd, &o.output, ownerFormats)
	return cmd
}

func (o *ownerOptions) validate() error {
	if err := validateOutput(o.output, ownerFormats); err != nil {
		return err
	}
	return o.validateOne(errNotOne)
}

func (c *clients) owner(ctx context.Context, o *ownerOptions) error {
	t, err := c.one(ctx, o.selection)
	if err != nil {
		return err
	}
	looker, err := owner.NewLooker(c.Clients)
	if err != nil {
		return err
	}
	facts := looker.Look(ctx, t.kind.groupKind(), t.meta)
	var gaps []owner.Gap
	facts.Protection, gaps = c.protectionOf(ctx, t, facts.Namespace)
	facts.Gaps = append(facts.Gaps, gaps...)
	facts.Waiting = waitingText(t)
	found := owner.Of(facts)
	if o.output != "" {
		return c.Encode(o.output, found)
	}
	for _, line := range found.Text(time.Now(), o.fields) {
		c.Line(ui.Continued(line, "               ")) // annotations are of others, and may have lines
	}
	return nil
}

// waitingText says for whom a pod waits, by its marks; empty if it does not, or is none.
func waitingText(t target) string {
	if t.kind.GroupResource() != podsKind.GroupResource() {
		return ""
	}
	w := waitingOf(&corev1.Pod{ObjectMeta: t.meta.ObjectMeta}, evictionpolicy.Settings{}, time.Now())
	if w == nil {
		return ""
	}
	return fmt.Sprintf("it waits for %s since %s: kubectl holdfast why evict %s%s", w.By, w.Since.UTC().Format(timeFormat), t.meta.Name, t.namespaceFlag())
}

// protectionOf says what protects an object, as why delete does, for somebody who holds no
// right of Holdfast's. Its namespace is nil where there is none, or it is not known.
func (c *clients) protectionOf(ctx context.Context, t target, namespace *metav1.PartialObjectMetadata) (*owner.Protection, []owner.Gap) {
	f := deleteFacts{whyFacts: whyFacts{enforcement: c.enforcement(ctx), anchor: anchorUnknown}}
	var protectionErr, overrideErr error
	f.protections, protectionErr = c.protectionSet(ctx)
	f.overrides, overrideErr = c.overridesByTarget(ctx)
	var gaps []owner.Gap
	for _, problem := range []struct {
		part string
		err  error
	}{{"the ResourceDeletionProtections", protectionErr}, {"the DeletionOverrides", overrideErr}} {
		if problem.err != nil {
			gaps = append(gaps, owner.Gap{Part: problem.part, Reason: problem.err.Error()})
		}
	}
	if problem := f.enforcement.Problem; problem != "" {
		gaps = append(gaps, owner.Gap{Part: "the policies", Reason: problem + "; they are assumed to be installed and enforced"})
	}
	namespaces := map[string]map[string]string{}
	if namespace != nil {
		namespaces[namespace.Name] = namespace.Labels
	}
	f.target = newWorld(f.enforcement, f.protections, namespaces, []target{t}).objects[0]
	f.namespaceLabels = namespaces[t.meta.Namespace]
	f.selecting = f.protections.Match(t.kind.groupKind(), t.meta, f.namespaceLabels)
	return protectionFrom(explainDelete(f)), gaps
}

// protectionFrom is what is said of an explanation; nil if there is nothing to say.
func protectionFrom(x explanation) *owner.Protection {
	if len(x.Labels)+len(x.Protections)+len(x.Overrides) == 0 {
		return nil
	}
	p := &owner.Protection{}
	for _, l := range x.Labels {
		p.Protected = p.Protected || l.Effect.protects()
		p.Labels = append(p.Labels, owner.Label{Label: l.Label, Value: l.Value, Effect: string(l.Effect)})
	}
	for _, r := range x.Protections {
		p.Protections = append(p.Protections, owner.Rule{Name: r.Name, Mode: string(r.Mode), Reason: r.Reason})
	}
	for _, o := range x.Overrides {
		p.Overrides = append(p.Overrides, owner.Override{Name: o.Name, Phase: string(o.Phase), Text: o.String()})
	}
	return p
}
