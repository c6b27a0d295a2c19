// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/holdfast-dev/holdfast/internal/cli/fields"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// fewFields is how many fields of a manager are told one by one, if not all are asked for.
const fewFields = 4

// sheet is lines with names in the left column.
type sheet struct {
	lines []string
	last  string
}

// add writes a value. A name is written once for all values below it.
func (s *sheet) add(name, value string) {
	if value == "" {
		return
	}
	shown := name + ":"
	if name == s.last {
		shown = ""
	}
	s.last = name
	s.lines = append(s.lines, fmt.Sprintf("  %-12s %s", shown, value))
}

// Text is whose an object is, for people: the answer, and then what there is to say. With
// all, each field has a line.
func (o *Ownership) Text(now time.Time, all bool) []string {
	s := &sheet{}
	o.writeSource(s, now)
	o.writePlace(s)
	o.writeProtection(s)
	if !all {
		for _, m := range o.FieldManagers {
			s.add("fields of", head(m, now)+": "+m.Summary(fewFields))
		}
	}
	for _, g := range o.NotLookedAt {
		s.add("not known", g.Part+": "+g.Reason)
	}
	lines := append([]string{"owner: " + o.Owner.Text}, s.lines...)
	if all {
		lines = append(lines, o.fieldLines(now)...)
	}
	return lines
}

// writeSource says more of the RootSync. That the marks of one do not count is said too.
func (o *Ownership) writeSource(s *sheet, now time.Time) {
	p := o.Source
	if p == nil {
		return
	}
	switch p.Kept {
	case sync.Inherited, sync.Disabled, sync.Marked:
		s.add("source", "it "+p.Predicate())
		return
	}
	s.add("repository", p.RepositoryText())
	s.add("commit", p.CommitText())
	s.add("RootSync", p.SyncText(now))
}

// writePlace says of what the object is a part.
func (o *Ownership) writePlace(s *sheet) {
	if n := o.Namespace; n != nil && (len(n.Claims) > 0 || n.Why != unclaimed || o.isNamespace()) {
		n.write(s)
	}
	if o.Tree != nil {
		s.add("tree", o.Tree.text(o.Object.Name))
	}
	if o.CopyOf != nil {
		s.add("copy of", o.CopyOf.String()+o.CopyOf.State.text())
	}
	for _, l := range o.Owners {
		text := l.String()
		if l.Controller {
			text += " (controller)"
		}
		s.add("belongs to", text+l.State.text())
	}
	if o.KeptBy != nil {
		s.add("kept by", o.KeptBy.String())
	}
	s.add("eviction", o.Waiting)
	for _, t := range o.Tools {
		s.add("marks of", t)
	}
}

// unclaimed is what is said of a namespace without claims.
var unclaimed = ownership.Verdict{}.Why()

// write says whose the namespace is and, if several claim it, since when.
func (c *Claims) write(s *sheet) {
	s.add("namespace", c.Name+": "+c.Why)
	if len(c.Claims) < 2 {
		return
	}
	for _, one := range c.Claims {
		since := "since before claims were written"
		if one.Since != nil {
			since = "since " + one.Since.UTC().Format(time.RFC3339)
		}
		s.add("claims", fmt.Sprintf("%-12s %s, %s", one.How, one.Claimant, since))
	}
}

func (o *Ownership) isNamespace() bool { return o.Object.Group == "" && o.Object.Kind == "Namespace" }

func (s State) text() string {
	switch s {
	case Gone:
		return ", which is gone"
	case Unknown:
		return ", which could not be looked at"
	}
	return ""
}

func (o *Ownership) writeProtection(s *sheet) {
	p := o.Protection
	if p == nil {
		return
	}
	for _, l := range p.Labels {
		s.add("deletion", fmt.Sprintf("%s, by %s=%s", l.Effect, l.Label, l.Value))
	}
	for _, r := range p.Protections {
		text := fmt.Sprintf("ResourceDeletionProtection %s (%s)", r.Name, r.Mode)
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		s.add("deletion", text)
	}
	for _, x := range p.Overrides {
		s.add("deletion", "DeletionOverride "+x.Text)
	}
}

// head is a manager with the time of its last write.
func head(m fields.Manager, now time.Time) string {
	if m.Time == nil {
		return m.Head()
	}
	return m.Head() + " " + ago(*m.Time, now)
}

func ago(t metav1.Time, now time.Time) string {
	return duration.HumanDuration(now.Sub(t.Time)) + " ago"
}

// fieldLines are all fields by their managers. That a field has several owners is said.
func (o *Ownership) fieldLines(now time.Time) []string {
	owners := map[string]int{}
	for _, m := range o.FieldManagers {
		for _, f := range m.Fields {
			owners[f]++
		}
	}
	var out []string
	for _, m := range o.FieldManagers {
		out = append(out, "", head(m, now)+":")
		if m.Problem != "" {
			out = append(out, "  "+m.Problem)
		}
		for _, f := range m.Fields {
			line := "  " + f
			if owners[f] > 1 {
				line += "  (shared)"
			}
			out = append(out, line)
		}
	}
	return out
}
