// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// somePods is how many pods a line names.
const somePods = 10

// print writes a plan for people: a block for each account that would change or cannot,
// or with all for each, and how many there are.
func (c *client) print(p *Plan, now time.Time, all bool) {
	for i := range p.Items {
		item := &p.Items[i]
		if !all && item.Action == None && item.Problem == "" {
			continue
		}
		c.Line(item.head())
		if rows := item.rows(now, all); len(rows) > 0 {
			c.Table([]string{"  CHANGE", "KEY", "SET BY", "VALUE"}, rows)
		}
		for _, line := range item.tail() {
			c.Line("  " + line)
		}
	}
	for _, note := range p.Notes {
		c.Notef("note: %s", note)
	}
	if p.Settings.StrimziOperator {
		c.Notef("note: Strimzi's operator runs: Holdfast would leave what it sets as it is")
	}
	for _, g := range p.NotLookedAt {
		c.Notef("warning: not looked at: %s: %s", g.Part, g.Reason)
	}
	c.Line(p.Summary.text())
	if p.Summary.Yielded > 0 && !all {
		c.Notef("--all shows what stays as others have set it.")
	}
}

var verbs = map[Action]string{
	None: "stays as it is", Create: "would be made", Write: "would be written", Replace: "would be replaced",
	Release: "would be given back", Delete: "would be deleted",
}

// head says what becomes of an account, and for whom.
func (i *Item) head() string {
	name := i.Name
	if name == "" {
		name = "?"
	}
	text := fmt.Sprintf("%s/%s %s", i.Namespace, name, verbs[i.Action])
	if i.Object != nil {
		text += fmt.Sprintf(": ServiceAccountTemplate %s for %s", i.Template, i.Object)
	}
	return text
}

func (o Object) String() string { return o.Kind + " " + ui.Name(o.Name) }

var styles = map[plan.Kind]ui.Style{
	plan.Added: ui.Good, plan.Changed: ui.Warn, plan.Removed: ui.Bad, plan.Yielded: ui.Warn, plan.Withheld: ui.Warn, plan.Conflicting: ui.Bad,
}

func (i *Item) rows(now time.Time, all bool) [][]ui.Cell {
	var out [][]ui.Cell
	for _, k := range i.Keys {
		if !all && !(i.Action != None && k.writes()) && k.Change != plan.Conflicting && k.Change != plan.Withheld {
			continue
		}
		out = append(out, []ui.Cell{
			{Text: "  " + string(k.Change), Style: styles[k.Change]}, ui.Text(string(k.Field) + " " + k.Key), ui.Text(k.setBy(now)), ui.Text(k.value()),
		})
	}
	return out
}

// setBy names who has set a key, with which operation and when.
func (k *Key) setBy(now time.Time) string {
	if len(k.Owners) == 0 {
		return "-"
	}
	out := make([]string, len(k.Owners))
	for i, o := range k.Owners {
		out[i] = fmt.Sprintf("%s (%s)", o.Manager, o.Operation)
		if o.Time != nil {
			out[i] += " " + duration.HumanDuration(now.Sub(*o.Time)) + " ago"
		}
	}
	return strings.Join(out, ", ")
}

func (k *Key) value() string {
	switch k.Change {
	case plan.Added:
		return fmt.Sprintf("%q", k.To)
	case plan.Changed:
		return fmt.Sprintf("%q, now %q", k.To, k.From)
	case plan.Withheld:
		if k.From == "" {
			return fmt.Sprintf("not set, wanted %q", k.To)
		}
		return fmt.Sprintf("%q, wanted %q", k.From, k.To)
	case plan.Yielded, plan.Conflicting:
		return fmt.Sprintf("%q, wanted %q", k.From, k.To)
	default:
		return fmt.Sprintf("%q", k.From)
	}
}

// tail is what there is to say beside the keys.
func (i *Item) tail() []string {
	var out []string
	if i.Message != "" {
		out = append(out, "why: "+i.Message)
	}
	if i.Object != nil && slices.ContainsFunc(i.Keys, func(k Key) bool { return k.Change == plan.Withheld }) {
		out = append(out, fmt.Sprintf("withheld: %s does not own the account: let it own it, set the key by hand, or set serviceAccounts.identities: All", i.Object))
	}
	if i.Action == Write && !i.changes() {
		out = append(out, "no value changes: Holdfast would own what is as the template says already")
	}
	for _, r := range i.Rivals {
		out = append(out, fmt.Sprintf("refused to: %s, by ServiceAccountTemplate %s", r.Object, r.Template))
	}
	if !i.changesIdentity() {
		return out
	}
	for _, k := range i.Keys {
		if k.Identity != nil && k.writes() {
			out = append(out, fmt.Sprintf("identity: %s is of %s: %s", k.Key, k.Identity.Provider, k.Identity.Meaning))
		}
	}
	return append(out, "restart: "+podsText(i.Restart))
}

func podsText(pods []string) string {
	switch n := len(pods); {
	case n == 0:
		return "no pod is known that would have to be made anew"
	case n > somePods:
		return fmt.Sprintf("%d pods see it once made anew: %s, and %d more", n, strings.Join(pods[:somePods], ", "), n-somePods)
	default:
		return fmt.Sprintf("%s it once made anew: %s", count(n, "pod sees", "pods see"), strings.Join(pods, ", "))
	}
}

func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// text is the summary in a line.
func (s *Summary) text() string {
	head := count(s.Accounts, "account", "accounts")
	switch s.Changing {
	case 0:
		head += ", none would change"
	default:
		head += fmt.Sprintf(", %d would change", s.Changing)
	}
	var details []string
	add := func(n int, what string) {
		if n > 0 {
			details = append(details, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.Created, "made")
	add(s.Deleted, "deleted")
	add(s.Released, "given back")
	add(s.OwnedOnly, "in ownership alone")
	first := len(details)
	add(s.Added, "added")
	add(s.Changed, "changed")
	add(s.Removed, "removed")
	if first < len(details) {
		n, what, _ := strings.Cut(details[first], " ")
		noun := "keys"
		if n == "1" {
			noun = "key"
		}
		details[first] = n + " " + noun + " " + what
	}
	parts := []string{head}
	if len(details) > 0 {
		parts[0] += ": " + strings.Join(details, ", ")
	}
	if s.Conflicts > 0 {
		parts = append(parts, count(s.Conflicts, "conflict", "conflicts"))
	}
	if s.Errors > 0 {
		parts = append(parts, count(s.Errors, "error", "errors"))
	}
	return strings.Join(parts, "; ")
}
