// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

func (c *clients) printExplanations(o *whyDeleteOptions, explanations []explanation) error {
	if o.output != "" {
		return encodeList(c, o.output, "DeleteExplanationList", explanations)
	}
	asked := slices.DeleteFunc(slices.Clone(explanations), func(x explanation) bool { return x.nested })
	printEach(c, asked, func(x explanation) { c.printExplanation(x, o.everything) })
	return nil
}

func (c *clients) printExplanation(x explanation, everything bool) {
	verdict := c.Paint(ui.Good, "would be allowed")
	if !x.Allowed {
		verdict = c.Paint(ui.Bad, "would be refused")
	}
	c.Printf("%s: the delete %s\n", c.Paint(ui.Bold, x.target.where()), verdict)
	if !x.Offline {
		c.printRights(x)
	}
	for _, l := range x.Labels {
		c.printLabel(l)
	}
	c.printRefusal(x.Refusal)
	c.printWaysAround(x)
	if x.Below != nil {
		c.printBelow(x, everything)
	}
	c.bullets("note", x.Notes)
	c.bullets("what to do", x.NextSteps)
}

func (c *clients) printRights(x explanation) {
	c.Printf("\n")
	c.fact("who asks", x.User.Name)
	c.fact("may delete", yesNo(x.MayDelete.Allowed, "says RBAC"))
	if len(x.Labels) == 0 {
		c.fact("labels", "none that protects")
		return
	}
	c.fact("may unprotect", yesNo(x.MayUnprotect.Allowed, unprotectRight+", "+rightIn(x.MayUnprotect.Namespace)))
	c.fact("may edit", yesNo(x.MayEdit.Allowed, "says RBAC"))
}

// printWaysAround prints the protections and the overrides.
func (c *clients) printWaysAround(x explanation) {
	if len(x.Protections)+len(x.Overrides) > 0 {
		c.Printf("\n")
	}
	for _, p := range x.Protections {
		parts := []string{fmt.Sprintf("%s (mode %s)", p.Name, p.Mode), p.Reason, p.Message}
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		c.fact("protection", strings.Join(parts, ": "))
	}
	for _, o := range x.Overrides {
		c.fact("override", o.String())
	}
}

// String says of an override what counts for whoever wants to delete.
func (o overrideRef) String() string {
	text := o.Name + ", " + orNone(string(o.Phase))
	if o.ExpiresAt != nil {
		text += " until " + o.ExpiresAt.UTC().Format(timeFormat)
	}
	text += ", asked by " + o.RequestedBy
	if o.ApprovedBy != "" {
		text += ", approved by " + o.ApprovedBy
	}
	if o.IncludeContents {
		text += ", with all that hangs below"
	}
	return text + ": " + o.Reason
}

// timeFormat is how people read a time.
const timeFormat = "2006-01-02 15:04:05 UTC"

func (c *clients) printBelow(x explanation, everything bool) {
	branches := x.Below.branches(everything)
	if len(branches) == 0 {
		return
	}
	title := "what it owns, and what becomes of that if it is deleted"
	switch x.Below.Relation {
	case relationContents:
		title = "what is in it, and what becomes of that if it is deleted"
	case relationInstances:
		title = "its instances, and what becomes of them if it is deleted"
	}
	c.Printf("\n%s:\n  %s\n", title, c.Paint(ui.Bold, x.target.String()))
	c.printTree("  ", branches)
}

func (c *clients) printLabel(l labelExplanation) {
	style := ui.Warn
	if l.Effect.protects() {
		style = ui.Good
	}
	c.Printf("\n  %s=%s  %s\n", l.Label, l.Value, c.Paint(style, string(l.Effect)))
	if l.Rule == "" {
		return
	}
	if !l.Refuses {
		c.fact("  refuses", "no")
	}
	c.fact("  rule", string(l.Rule))
	c.fact("  policy", fmt.Sprintf("%s (mode %s)", l.Policy, l.Mode))
	c.fact("  message", l.Message)
}

// fact is a line with a name in the left column.
func (c *clients) fact(name, text string) {
	c.Printf("  %-13s  %s\n", name, ui.Continued(text, strings.Repeat(" ", 17)))
}

func (c *clients) bullets(title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	c.Printf("\n%s:\n", title)
	for _, text := range texts {
		c.Printf("  - %s\n", ui.Continued(strings.TrimSpace(text), "    "))
	}
}

func yesNo(yes bool, detail string) string {
	if yes {
		return "yes (" + detail + ")"
	}
	return "no (" + detail + ")"
}
