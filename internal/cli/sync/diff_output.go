// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// difference is what the next sync of a RootSync would change.
type difference struct {
	name, commit string
	// exact says that another commit alone is a change.
	exact    bool
	result   *preview.Result
	warnings []string
}

// syncDiff is the structured output of diff.
type syncDiff struct {
	metav1.TypeMeta `json:",inline"`
	RootSync        string `json:"rootSync"`
	// Commit is not known of a checkout.
	Commit string       `json:"commit,omitempty"`
	Items  []diffedItem `json:"items"`
	Notes  []string     `json:"notes,omitempty"`
}

// diffedItem is what would happen to an object.
type diffedItem struct {
	Action     preview.Action `json:"action"`
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Namespace  string         `json:"namespace,omitempty"`
	Name       string         `json:"name"`
	Path       string         `json:"path,omitempty"`
	Reason     string         `json:"reason"`
}

func (d *difference) encoded() syncDiff {
	out := syncDiff{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "SyncDiff"},
		RootSync: d.name, Commit: d.commit, Items: []diffedItem{}, Notes: append(d.warnings, d.result.Notes...),
	}
	for _, c := range d.result.Changes {
		out.Items = append(out.Items, diffedItem{c.Action, c.APIVersion, c.ID.Kind, c.ID.Namespace, c.ID.Name, c.Path, c.Reason})
	}
	return out
}

func (c *client) printDiff(d *difference) error {
	for i := range d.result.Changes {
		change := &d.result.Changes[i]
		text, err := change.Diff(d.exact)
		if err != nil {
			return err
		}
		c.Printf("%s\n", c.Paint(styleOf(change.Action), headOf(change)))
		for line := range strings.Lines(text) {
			c.Printf("%s\n", c.Paint(styleOfLine(line), strings.TrimSuffix(line, "\n")))
		}
	}
	for _, note := range d.warnings {
		c.Notef("note: %s", note)
	}
	for _, note := range d.result.Notes {
		c.Notef("warning: %s", note)
	}
	c.Line(d.summary())
	return nil
}

func headOf(c *preview.Change) string {
	text := fmt.Sprintf("%s %s", c.Action, idText(c.ID))
	if c.Path != "" {
		text += " [" + c.Path + "]"
	}
	return text + ": " + firstLine(c.Reason)
}

func styleOf(a preview.Action) ui.Style {
	switch {
	case a == preview.Fail, a == preview.Unknown:
		return ui.Bad
	case a.Writes():
		return ui.Bold
	}
	return ui.Warn
}

func styleOfLine(line string) ui.Style {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		return ui.Bold
	case strings.HasPrefix(line, "+"):
		return ui.Good
	case strings.HasPrefix(line, "-"):
		return ui.Bad
	}
	return ui.Plain
}

// summary counts what would happen, in the order of the help.
func (d *difference) summary() string {
	count := map[preview.Action]int{}
	for _, c := range d.result.Changes {
		count[c.Action]++
	}
	var parts []string
	for _, a := range []preview.Action{
		preview.Create, preview.Update, preview.Delete, preview.Release, preview.Claim,
		preview.Keep, preview.Conflict, preview.Wait, preview.Fail, preview.Unknown,
	} {
		if n := count[a]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, a))
		}
	}
	text := d.name
	if d.commit != "" {
		text += " at " + ShortCommit(d.commit)
	}
	if len(parts) == 0 {
		return text + ": nothing would change"
	}
	return text + ": " + strings.Join(parts, ", ")
}
