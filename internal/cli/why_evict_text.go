// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

func (c *clients) printEvictExplanations(output string, explanations []evictExplanation) error {
	if output != "" {
		return encodeList(c, output, "EvictExplanationList", explanations)
	}
	printEach(c, explanations, c.printEvictExplanation)
	return nil
}

func (c *clients) printEvictExplanation(x evictExplanation) {
	verdict := c.Paint(ui.Good, "would pass")
	if !x.Answer.Allowed {
		verdict = c.Paint(ui.Bad, "would be refused")
	}
	where := fmt.Sprintf("pods/%s in namespace %s", x.Object.Name, x.Object.Namespace)
	c.Printf("%s: the eviction %s\n\n", c.Paint(ui.Bold, where), verdict)
	c.fact("who asks", x.User.Name)
	c.fact("may evict", yesNo(x.MayEvict.Allowed, "says RBAC"))
	c.fact("node", nodeText(x))
	c.fact("in scope", scopeText(x.Scope))
	c.fact("decided by", decidedText(x))
	c.printAnswer(x.Answer)
	for _, line := range writesText(x.Writes) {
		c.fact("writes", line)
	}
	c.printWaiting(x)
	c.fact("budget", budgetText(x.Budgets))
	if x.Protection != "" {
		c.fact("protection", x.Protection)
	}
	c.bullets("note", x.Notes)
	c.bullets("what to do", x.NextSteps)
}

func (c *clients) printAnswer(a evictionAnswer) {
	if a.Allowed {
		if a.Warning != "" {
			c.fact("warning", a.Warning)
		}
	} else {
		code := fmt.Sprint(a.Code)
		if a.Reason != "" {
			code += " " + string(a.Reason)
		}
		c.fact("answer", code)
		c.fact("message", a.Message)
	}
	c.fact("kubectl drain", drainText(a.Drain, a.Code))
}

// drainText says what kubectl drain makes of a pod.
func drainText(d drainAction, code int32) string {
	switch d {
	case drainEvicts:
		return "evicts it"
	case drainWaits:
		return fmt.Sprintf("waits (%d)", code)
	case drainGone:
		return fmt.Sprintf("takes it as gone (%d)", code)
	case drainSkips:
		return "skips it"
	}
	return fmt.Sprintf("gives up (%d)", code)
}

func nodeText(x evictExplanation) string {
	switch {
	case x.Node == "":
		return "none yet"
	case x.NodeDraining:
		return x.Node + ", which is being drained"
	}
	return x.Node + ", which is not being drained"
}

func scopeText(s evictionScope) string {
	text := yesNo(s.InScope, s.Eviction)
	if s.Global != s.Eviction {
		text += "; of all features: " + s.Global
	}
	return text + "; filtered by: " + string(s.Filter)
}

// decidedText says which rule decides and which come later. What refuses after
// the rules is said elsewhere.
func decidedText(x evictExplanation) string {
	text := "no rule of Holdfast matches the pod"
	switch {
	case !x.Scope.InScope:
		return "nothing of Holdfast's, because the namespace is not in scope"
	case x.Guard.Asked == askedNo:
		return "nothing of Holdfast's, because it is not asked"
	case x.Decision.By.Kind != "":
		text = fmt.Sprintf("%s (%s, mode %s)", x.Decision.By, x.Decision.Outcome, x.Decision.Mode)
	}
	for _, others := range []struct {
		why string
		by  []heldBy
	}{{"only tell", x.Trials}, {"come later", x.Later}} {
		if len(others.by) > 0 {
			var names []string
			for _, by := range others.by {
				names = append(names, by.String())
			}
			text += "; these match too, and " + others.why + ": " + strings.Join(names, ", ")
		}
	}
	return text
}

func writesText(w *evictionWrites) []string {
	if w == nil {
		return []string{"nothing"}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(w.Labels)) {
		out = append(out, fmt.Sprintf("label %s=%s", k, w.Labels[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(w.Annotations)) {
		out = append(out, fmt.Sprintf("annotation %s=%s", k, w.Annotations[k]))
	}
	return out
}

func (c *clients) printWaiting(x evictExplanation) {
	w := x.Waiting
	if w == nil {
		if x.Bound != "" {
			c.fact("held until", x.Bound)
		}
		return
	}
	text := w.Since.UTC().Format(timeFormat) + ", for " + w.By.String()
	if w.LastAsked != nil {
		text += "; last asked " + w.LastAsked.UTC().Format(timeFormat)
	}
	if w.Lapsed {
		text += "; nobody has asked for so long that the next eviction counts as the first"
	}
	c.fact("waits since", text)
	switch {
	case w.Deadline != nil:
		c.fact("deadline", w.Deadline.UTC().Format(timeFormat)+"; "+overdueText(w.Then))
	case x.Bound != "":
		c.fact("held until", x.Bound)
	}
}

func budgetText(b budgetAnswer) string {
	names := strings.Join(b.Names, ", ")
	switch {
	case names == "":
		return "none selects the pod"
	case b.Refuses && b.Detail != "":
		return names + ", which refuses: " + b.Detail
	case b.Refuses:
		return names + ": refused: " + b.Message
	case !b.Counted:
		return names + ", which does not count now"
	}
	return names + ", which allows it"
}
