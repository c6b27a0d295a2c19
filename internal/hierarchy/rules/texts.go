// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"regexp"
	"strconv"
	"strings"
)

// Texts of refusals that policies give too, so that they are the same with Holdfast
// up and down.
const (
	TextCopyMade    = "the label %s cannot be set: it is of copies only"
	TextCopyDeleted = "this is a copy; delete what it was copied from, in the namespace %q"
	TextCopyLabel   = "the label %s cannot be changed"
	TextCopyChanged = "this is a copy; change what it was copied from, in the namespace %q"

	TextNotIncluded = "the namespace %q is not managed, so it cannot have the label %s"
	TextIncluded    = "the namespace %q is managed, so the label %s must be \"true\""
	TextNotExcluded = "the namespace %q is not in the list of those that are excluded, so it cannot have the label %s"
	TextTreeLabels  = "labels that say where a namespace stands cannot be changed: %s"
	TextExternal    = "%q has the parent %q, so it cannot be managed by somebody else"
	TextNoRight     = "this changes the tree of the namespace %q, and you may not update hierarchyconfigurations.hnc.x-k8s.io there"
)

// Texts of refusals by which people are told what to do about them.
const (
	textKept        = "the subnamespace %q cannot be deleted: %s"
	textByItsAnchor = "%q is a subnamespace; delete its anchor in %q instead"
	textHasBelow    = "%q has subnamespaces (%s); allow cascading deletion on it, or delete them first"
	textAnchorBelow = "the subnamespace %q has namespaces below it (%s); allow cascading deletion on it, or move them first"
	textTakesPlace  = "%s %q would take the place of others of its name, in the namespaces %s"
)

// Told is what a refusal says, of which all but one are empty.
type Told struct {
	// CopyOf is the namespace that a copy was copied from.
	CopyOf string
	// Kept is a namespace that would go, and Why what keeps it.
	Kept, Why string
	// Subnamespace goes with its anchor in the namespace Anchor.
	Subnamespace, Anchor string
	// Parent has subnamespaces, and does not allow that they go with it.
	Parent string
	// Overwrites are namespaces in which others of a name would be lost.
	Overwrites string
	// NoRight is a namespace whose tree the user may not change.
	NoRight string
}

// Read takes a refusal of this package apart again; it is empty for any other text.
func Read(message string) Told {
	for _, r := range readings {
		if places, ok := r.places(message); ok {
			return r.told(places)
		}
	}
	return Told{}
}

// reading is how to read one text.
type reading struct {
	*regexp.Regexp
	quoted []bool
	told   func(places []string) Told
}

var readings = []reading{
	of(TextCopyChanged, func(p []string) Told { return Told{CopyOf: p[0]} }),
	of(TextCopyDeleted, func(p []string) Told { return Told{CopyOf: p[0]} }),
	of(textKept, func(p []string) Told { return Told{Kept: p[0], Why: p[1]} }),
	of(textByItsAnchor, func(p []string) Told { return Told{Subnamespace: p[0], Anchor: p[1]} }),
	of(textHasBelow, func(p []string) Told { return Told{Parent: p[0]} }),
	of(textAnchorBelow, func(p []string) Told { return Told{Parent: p[0]} }),
	of(textTakesPlace, func(p []string) Told { return Told{Overwrites: p[2]} }),
	of(TextNoRight, func(p []string) Told { return Told{NoRight: p[0]} }),
}

// of reads what fmt has written with a text of %q and %s.
func of(text string, told func([]string) Told) reading {
	r := reading{told: told}
	var pattern strings.Builder
	pattern.WriteString("(?s)^")
	for {
		before, after, found := strings.Cut(text, "%")
		pattern.WriteString(regexp.QuoteMeta(before))
		if !found {
			break
		}
		quoted := after[0] == 'q'
		r.quoted = append(r.quoted, quoted)
		if text = after[1:]; quoted {
			pattern.WriteString(`("(?:[^"\\]|\\.)*")`)
		} else {
			pattern.WriteString("(.*)")
		}
	}
	pattern.WriteString("$")
	r.Regexp = regexp.MustCompile(pattern.String())
	return r
}

func (r reading) places(message string) ([]string, bool) {
	found := r.FindStringSubmatch(message)
	if found == nil {
		return nil, false
	}
	for i, quoted := range r.quoted {
		if !quoted {
			continue
		}
		plain, err := strconv.Unquote(found[i+1])
		if err != nil {
			return nil, false
		}
		found[i+1] = plain
	}
	return found[1:], true
}
