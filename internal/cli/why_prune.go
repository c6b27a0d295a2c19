// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/cli/refusal"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const whyPruneHelp = `Explain what becomes of an object of a RootSync when the source has it no longer, and if it
does not go, what is in the way and when the RootSync asks again. It decides as the sync
does, by the same code; that the object may be deleted is asked by a dry run, in your name.
Nothing is changed.

  protection            by a label, a ResourceDeletionProtection, or because of what hangs below
  who else uses it      of a Namespace or a CustomResourceDefinition
  what runs in it       of a Namespace
  what needs it         of what else the RootSync has
  whose it is           another RootSync can have taken it over, or be about to
  its annotations       client.lifecycle.config.k8s.io/deletion: detach lets it stay

The exit code is 0 if it would go or be let go of, and 3 if it would stay the RootSync's.

-o json and -o yaml give a PruneExplanation: object, rootSync, allowed, declared, action
(Delete, Abandon, Keep, HandOver, Wait or Gone), reason, blocker (InUse, OwnUse, Needed,
OutOfScope, Occupied, Refused or Terminating), refusal, next, and texts: notes and nextSteps.`

// whyPruneOptions are what the command line of why prune says.
type whyPruneOptions struct {
	selection
	sync   string
	output string
}

func newWhyPruneCommand(c *clients, runF func(*whyPruneOptions) error) *cobra.Command {
	o := &whyPruneOptions{}
	cmd := &cobra.Command{
		Use:   "prune (TYPE NAME | TYPE/NAME)",
		Short: "Explain what becomes of an object when its RootSync declares it no longer",
		Long:  whyPruneHelp,
		Example: `  # Why is this still there, although Git has it no longer?
  kubectl holdfast why prune namespace shop

  # What would become of it, if it were taken out of Git?
  kubectl holdfast why prune deploy web -n shop`,
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			return orTest(c.whyPrune, runF)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.sync, "sync", "", "The RootSync; by default the one that has the object")
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

func (o *whyPruneOptions) validate() error {
	if err := validateOutput(o.output, whyFormats); err != nil {
		return err
	}
	return o.validateOne(errNotOne)
}

// pruneExplanation is the structured output of why prune.
type pruneExplanation struct {
	metav1.TypeMeta `json:",inline"`
	Object          objectRef `json:"object"`
	RootSync        string    `json:"rootSync"`
	// Allowed says whether it would go, or be let go of.
	Allowed bool `json:"allowed"`
	// Declared says whether the source has it now; absent if nobody says so.
	Declared *bool            `json:"declared,omitempty"`
	Action   decide.Action    `json:"action,omitempty"`
	Reason   string           `json:"reason"`
	Blocker  preview.Blocker  `json:"blocker,omitempty"`
	Refusal  *refusal.Refusal `json:"refusal,omitempty"`
	// Next is when the RootSync tries again.
	Next      string   `json:"next,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	NextSteps []string `json:"nextSteps,omitempty"`

	target target
}

func (c *clients) whyPrune(ctx context.Context, o *whyPruneOptions) error {
	t, err := c.one(ctx, o.selection)
	if err != nil {
		return err
	}
	id := object.ID{Group: t.kind.Group, Kind: t.kind.Kind, Namespace: t.meta.Namespace, Name: t.meta.Name}
	found, err := sync.PruneOf(ctx, c.Clients, id, t.meta, o.sync)
	if err != nil {
		return err
	}
	x := explainPrune(t, found)
	if o.output != "" {
		err = c.Encode(o.output, x)
	} else {
		c.printPrune(x)
	}
	if err == nil && !x.Allowed {
		return errRefused
	}
	return err
}

// explainPrune puts together what is known.
func explainPrune(t target, p *sync.Prune) pruneExplanation {
	x := pruneExplanation{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "PruneExplanation"},
		Object:   refOf(t), RootSync: p.RootSync, Declared: p.Declared, Action: p.Action, Reason: p.Why, Blocker: p.Blocker,
		Refusal: refusal.Of(p.Refused), Notes: p.Notes, target: t,
	}
	x.Allowed = p.Action == decide.Delete || p.Action == decide.Abandon
	x.Next = nextPrune(p)
	if p.Unknown != nil {
		x.Notes = append(x.Notes, p.Unknown.Error())
	}
	if p.Suspended {
		x.Notes = append(x.Notes, fmt.Sprintf("RootSync %s is suspended: nothing happens until it is resumed", p.RootSync))
	}
	x.NextSteps = pruneSteps(t, p, x.Refusal)
	return x
}

// asksAgain says when a RootSync comes back to what it could not prune, by what is in the way.
var asksAgain = map[preview.Blocker]string{
	preview.BlockedByRefusal:   "asks again when its labels or its spec change, by which Holdfast protects, or the labels of a namespace that the answer names, and every ten minutes",
	preview.BlockedByUse:       "asks again when those who use it have gone",
	preview.BlockedByOwnUse:    "lets go of it when it has nothing there any more",
	preview.BlockedByScope:     "asks again when its namespace comes into the scope",
	preview.BlockedByOccupants: "looks again every minute",
	preview.BlockedByNeed:      "asks again when that has gone",
	preview.BlockedByEnd:       "waits until it has gone",
}

// nextPrune says when the RootSync asks again.
func nextPrune(p *sync.Prune) string {
	again := asksAgain[p.Blocker]
	if p.Action == decide.HandOver {
		again = "lets go of it once the other has taken it over"
	}
	if again == "" {
		return ""
	}
	return "RootSync " + p.RootSync + " " + again + "; until then it stays in its inventory"
}

func pruneSteps(t target, p *sync.Prune, r *refusal.Refusal) []string {
	switch p.Blocker {
	case preview.BlockedByRefusal:
		steps := []string{"see all that is in the way: kubectl holdfast why delete " + t.String() + t.namespaceFlag()}
		if r != nil && r.Feature == "" && r.By != refusal.ByAPIServer {
			steps = r.Steps(refusal.About{Target: t.String(), Flag: t.namespaceFlag(), Name: t.meta.Name, Delete: true})
		}
		return append(steps, "or let it stay and be nobody's: declare it once more with the annotation "+object.AnnotationDeletion+": "+object.DeletionDetach)
	case preview.BlockedByUse:
		return []string{"see whose it is: kubectl holdfast owner " + t.String() + t.namespaceFlag()}
	case preview.BlockedByOccupants:
		return []string{"move or delete what runs in it, if it is to go"}
	case preview.BlockedByScope:
		return []string{"take the namespace into the scope of the configuration: kubectl holdfast status shows it"}
	case preview.BlockedByEnd:
		return []string{"see what it waits for: kubectl get " + t.String() + t.namespaceFlag() + " -o yaml"}
	}
	return nil
}

func (c *clients) printPrune(x pruneExplanation) {
	verdict := c.Paint(ui.Bad, "would be refused")
	switch {
	case x.Action == decide.Abandon:
		verdict = c.Paint(ui.Good, "would leave it, and let go of it")
	case x.Allowed:
		verdict = c.Paint(ui.Good, "would delete it")
	case x.Action == decide.Gone || x.Action == "":
		verdict = c.Paint(ui.Warn, "would not touch it")
	case x.Action == decide.HandOver:
		verdict = c.Paint(ui.Warn, "would leave it to another")
	}
	c.Printf("%s: the prune %s\n\n", c.Paint(ui.Bold, x.target.where()), verdict)
	c.fact("RootSync", x.RootSync)
	switch {
	case x.Declared == nil:
	case *x.Declared:
		c.fact("in the source", "yes; this is what comes of it when it is not")
	default:
		c.fact("in the source", "no")
	}
	c.fact("why", x.Reason)
	c.printRefusal(x.Refusal)
	if x.Next != "" {
		c.fact("what is next", x.Next)
	}
	c.bullets("note", x.Notes)
	c.bullets("what to do", x.NextSteps)
}
