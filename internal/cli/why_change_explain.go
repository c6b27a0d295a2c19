// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/owner"
	"github.com/holdfast-dev/holdfast/internal/cli/refusal"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// changeExplanation says whether a change would be allowed, and what becomes of it.
type changeExplanation struct {
	Verb    string    `json:"verb"`
	Object  objectRef `json:"object"`
	Allowed bool      `json:"allowed"`
	User    struct {
		Name   string   `json:"name"`
		Groups []string `json:"groups,omitempty"`
	} `json:"user"`
	Refusal  *refusal.Refusal `json:"refusal,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	// Owner is whose the object is, in a line, and Place whose its namespace is.
	Owner string `json:"owner,omitempty"`
	Place string `json:"place,omitempty"`
	// Notes are what else should be known, NextSteps what can be done.
	Notes     []string `json:"notes,omitempty"`
	NextSteps []string `json:"nextSteps,omitempty"`

	target target
}

// explainChange puts together what is known of a change.
func explainChange(f changeFacts) changeExplanation {
	x := changeExplanation{
		Verb: f.verb, Object: refOf(f.target), Allowed: f.refusal == nil, Refusal: f.refusal, Warnings: f.warnings, target: f.target,
	}
	x.User.Name, x.User.Groups = f.user.Username, f.user.Groups
	place := f.place
	if f.owner != nil {
		x.Owner, place = f.owner.Owner.Text, f.owner.Namespace
	}
	if place != nil {
		x.Place = place.Name + ": " + place.Why
	}
	x.Notes = f.notes()
	if f.refusal != nil {
		x.NextSteps = f.refusal.Steps(refusal.About{Target: f.target.String(), Flag: f.target.namespaceFlag(), Name: f.target.meta.Name})
	}
	return x
}

// notes say what becomes of a change that is allowed.
func (f changeFacts) notes() []string {
	var notes []string
	add := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	if f.owner != nil && f.refusal == nil {
		by := f.owner.Owner
		where := ""
		if s := f.owner.Source; s != nil && s.Path != "" {
			where = ", " + s.Path
		}
		add(by.By == owner.ByRootSync, "%s puts back what it declares of it, within seconds: change it in the source%s", by.Name, where)
		add(by.By == owner.ByObject && by.How == "controller", "%s may put it back: change that instead", by.Name)
		add(by.By == owner.ByTool, "%s may put it back: change it there", by.Name)
		add(f.owner.KeptBy != nil, "Holdfast keeps the labels and annotations of its template on it")
	}
	return notes
}

func (c *clients) printChangeExplanations(output string, explanations []changeExplanation) error {
	if output != "" {
		return encodeList(c, output, "ChangeExplanationList", explanations)
	}
	printEach(c, explanations, c.printChangeExplanation)
	return nil
}

func (c *clients) printChangeExplanation(x changeExplanation) {
	verdict := c.Paint(ui.Good, "would be allowed")
	if !x.Allowed {
		verdict = c.Paint(ui.Bad, "would be refused")
	}
	c.Printf("%s: the %s %s\n\n", c.Paint(ui.Bold, x.target.where()), x.Verb, verdict)
	c.fact("who asks", x.User.Name)
	if x.Owner != "" {
		c.fact("owner", x.Owner)
	}
	if x.Place != "" {
		c.fact("namespace", x.Place)
	}
	c.printRefusal(x.Refusal)
	for _, w := range x.Warnings {
		c.fact("warning", w)
	}
	c.bullets("note", x.Notes)
	c.bullets("what to do", x.NextSteps)
}

// printRefusal says who refuses, and what for.
func (c *clients) printRefusal(r *refusal.Refusal) {
	if r == nil {
		return
	}
	c.fact("refused by", r.String())
	c.fact("answer", strings.TrimSpace(fmt.Sprintf("%d %s", r.Code, r.Reason)))
	c.fact("message", r.Message)
	if root := r.Root(); root != r {
		c.fact("because of", root.String())
	}
}
