// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

var statusHeader = []string{"NAME", "SOURCE", "COMMIT", "STATUS", "AGE"}

// statusList is the structured output of status.
type statusList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []item `json:"items"`
}

func (c *client) printStatus(output string, items []item, now time.Time) error {
	switch output {
	case ui.JSON, ui.YAML:
		return c.Encode(output, statusList{
			TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "RootSyncStatusList"}, Items: items,
		})
	case formatName:
		for i := range items {
			c.Printf("%s\n", reference(items[i].Name))
		}
		return nil
	}
	if len(items) == 0 {
		c.Notef("There are no RootSyncs.")
		return nil
	}
	rows := make([][]ui.Cell, 0, len(items))
	for i := range items {
		rows = append(rows, items[i].row(output == formatWide, now))
	}
	c.Table(statusHeader, rows)
	first := true
	for i := range items {
		if items[i].Problem == "" {
			continue
		}
		if first {
			c.Printf("\n")
		}
		first = false
		c.Line(items[i].Name + ": " + items[i].Problem)
	}
	return nil
}

// reference is a RootSync as kubectl names it.
func reference(name string) string { return "rootsync." + syncsResource.Group + "/" + name }

func (i *item) row(wide bool, now time.Time) []ui.Cell {
	from, commits := i.Source.short(), i.commits(ShortCommit)
	if wide {
		from, commits = i.Source.String(), i.commits(func(commit string) string { return commit })
	}
	age := none
	if i.LastSync != nil {
		age = duration.HumanDuration(now.Sub(i.LastSync.Time))
	}
	return []ui.Cell{ui.Text(i.Name), ui.Text(from), ui.Text(commits), {Text: i.word(), Style: i.style()}, ui.Text(age)}
}

func (i *item) style() ui.Style {
	switch i.State {
	case synced:
		return ui.Good
	case failed, stalled:
		return ui.Bad
	case syncing:
		return ui.Plain
	default:
		return ui.Warn
	}
}

// watchStatus prints a row for each RootSync, and again when it changes, as kubectl does.
func (c *client) watchStatus(ctx context.Context, client dynamic.Interface, o *statusOptions) error {
	columns := c.Columns(statusHeader)
	shown := map[string]string{}
	return follow(ctx, client, func(now snapshot) (bool, error) {
		items, err := now.items(o.names)
		if err != nil {
			return true, err
		}
		columns.Print(news(items, shown, o.output == formatWide, time.Now()))
		return false, nil
	})
}

// news are the rows that are not as they were shown, and of those that are gone. What it
// is told of is shown.
func news(items []item, shown map[string]string, wide bool, now time.Time) [][]ui.Cell {
	var rows [][]ui.Cell
	there := map[string]bool{}
	for i := range items {
		row := items[i].row(wide, now)
		there[items[i].Name] = true
		// The age is not news.
		if text := fmt.Sprint(row[:len(row)-1]); shown[items[i].Name] != text {
			shown[items[i].Name] = text
			rows = append(rows, row)
		}
	}
	var gone []string
	for name := range shown {
		if !there[name] {
			gone = append(gone, name)
			delete(shown, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		rows = append(rows, []ui.Cell{ui.Text(name), ui.Text(none), ui.Text(none), {Text: "Deleted", Style: ui.Warn}, ui.Text(none)})
	}
	return rows
}
