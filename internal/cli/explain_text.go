// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

func (c *clients) printExplanations(output string, explanations []explanation) error {
	if output != "" {
		if explanations == nil {
			explanations = []explanation{}
		}
		return c.Encode(output, explanationList{
			TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "DeleteExplanationList"},
			Items:    explanations,
		})
	}
	for i, x := range explanations {
		if i > 0 {
			c.Printf("\n")
		}
		c.printExplanation(x)
	}
	return nil
}

func (c *clients) printExplanation(x explanation) {
	verdict := c.Paint(ui.Good, "would be allowed")
	if !x.Allowed {
		verdict = c.Paint(ui.Bad, "would be refused")
	}
	c.Printf("%s: the delete %s\n\n", c.Paint(ui.Bold, x.target.where()), verdict)

	c.fact("who asks", x.User.Name)
	c.fact("may delete", yesNo(x.MayDelete.Allowed, "says RBAC"))
	if len(x.Labels) == 0 {
		c.fact("labels", "none that protects")
	} else {
		c.fact("may unprotect", yesNo(x.MayUnprotect.Allowed, unprotectRight+", "+rightIn(x.MayUnprotect.Namespace)))
		c.fact("may edit", yesNo(x.MayEdit.Allowed, "says RBAC"))
	}
	for _, l := range x.Labels {
		c.printLabel(l)
	}
	c.bullets("note", x.Notes)
	c.bullets("what to do", x.NextSteps)
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
	c.Printf("  %-13s  %s\n", name, printers.EscapeTerminal(text))
}

func (c *clients) bullets(title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	c.Printf("\n%s:\n", title)
	for _, text := range texts {
		c.Printf("  - %s\n", printers.EscapeTerminal(strings.TrimSpace(text)))
	}
}

func yesNo(yes bool, detail string) string {
	if yes {
		return "yes (" + detail + ")"
	}
	return "no (" + detail + ")"
}
