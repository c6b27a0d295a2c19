// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// Answer is who owns an object.
type Answer struct {
	By By `json:"by"`
	// Name is who, as people write it.
	Name string `json:"name,omitempty"`
	// How is in which way, where there are several.
	How string `json:"how,omitempty"`
	// Text is the answer in a line.
	Text string `json:"text"`
}

// By is what kind of owner it is.
type By string

const (
	// ByRootSync is of what a RootSync keeps.
	ByRootSync By = "RootSync"
	// ByRepoSync is of what a RepoSync of Config Sync keeps.
	ByRepoSync By = "RepoSync"
	// ByAnchor is of a subnamespace, which an anchor made.
	ByAnchor By = "Anchor"
	// BySource is of a copy, which is as its source is.
	BySource By = "Source"
	// ByObject is of what belongs to another object, by an owner reference.
	ByObject By = "Object"
	// ByTemplate is of a service account that a ServiceAccountTemplate keeps, and that is
	// nobody else's.
	ByTemplate By = "ServiceAccountTemplate"
	// ByHoldfast is of what Holdfast is made of.
	ByHoldfast By = "Holdfast"
	// ByTool is of what has the marks of another tool.
	ByTool By = "Tool"
	// ByNobody is of what nobody has left a mark on.
	ByNobody By = "Nobody"
	// ByUnknown is where nobody can tell.
	ByUnknown By = "Unknown"
)

// answerOf finds the owner. A mark with the object's own name in it goes before an owner
// reference, and that before marks which objects inherit from what made them.
func answerOf(f *Facts) Answer {
	if f.ID.IsNamespace() {
		return ofNamespace(f)
	}
	switch f.Source.Kept {
	case sync.Declared, sync.Implicit, sync.ByRepoSync:
		return fromSource(f.Source)
	}
	if a, own := ofHoldfast(f); own {
		return a
	}
	if original := originalOf(f); original != nil {
		text := fmt.Sprintf("%s, of which it is a propagated copy", original.ObjectRef)
		if original.State == Gone {
			text += "; that is gone"
		}
		return Answer{By: BySource, Name: original.String(), Text: text}
	}
	if len(f.Chain) > 0 {
		return fromChain(f)
	}
	if tools := ownership.Tools(f.ID.GroupKind(), f.Meta); len(tools) > 0 {
		return fromClaim(tools[0])
	}
	if f.Keeper != nil {
		return Answer{By: ByTemplate, Name: f.Keeper.Template, Text: f.Keeper.String()}
	}
	return nobody(f)
}

// ofNamespace goes by the claims, as all parts of Holdfast do.
func ofNamespace(f *Facts) Answer {
	verdict, err := ownership.Decide(f.Meta)
	if err != nil {
		return Answer{By: ByUnknown, Text: "unknown: the claims on the namespace cannot be read"}
	}
	owner, claimed := verdict.Owner()
	switch {
	case !claimed:
		if a, own := ofHoldfast(f); own {
			return a
		}
		return nobody(f)
	case f.Source.RootSync != "" && ownership.RootSync(rootSyncs, f.Source.RootSync) == owner.Claimant && strings.EqualFold(string(owner.How), string(f.Source.Kept)):
		return fromSource(f.Source)
	}
	return fromClaim(owner)
}

func fromSource(p sync.Provenance) Answer {
	if p.Kept == sync.ByRepoSync {
		return Answer{By: ByRepoSync, Name: p.Manager, Text: details(fmt.Sprintf("a RepoSync of Config Sync (%s)", p.Manager), p)}
	}
	a := Answer{By: ByRootSync, Name: "RootSync " + p.RootSync, How: strings.ToLower(string(p.Kept))}
	a.Text = fmt.Sprintf("%s (%s)", a.Name, a.How)
	if p.RootSyncExists != nil && !*p.RootSyncExists {
		a.Text += ", which is gone"
	}
	a.Text = details(a.Text, p)
	return a
}

// details adds the commit and the file.
func details(text string, p sync.Provenance) string {
	if p.Commit != "" {
		text += ", commit " + sync.ShortCommit(p.Commit)
	}
	if p.Path != "" {
		text += ", file " + p.Path
	}
	return text
}

// fromChain names the nearest owner, and whose the last one is.
func fromChain(f *Facts) Answer {
	nearest, last := f.Chain[0], f.Chain[len(f.Chain)-1]
	a := Answer{By: ByObject, Name: nearest.String(), Text: nearest.String()}
	if nearest.Controller {
		a.How = "controller"
		a.Text += " (controller)"
	}
	if len(f.Chain) > 1 {
		a.Text += ", up to " + last.String()
	}
	switch {
	case last.State == Gone:
		a.Text += ", which is gone"
	case f.Top != nil:
		if above := answerOf(f.Top); above.By != ByNobody {
			a.Text += ", whose owner is " + above.Text
		}
	}
	return a
}

func fromClaim(c ownership.Claim) Answer {
	a := Answer{By: ByTool, Name: nameOf(c.Claimant), How: string(c.How)}
	a.Text = fmt.Sprintf("%s (%s)", a.Name, a.How)
	switch {
	case c.How == ownership.Subnamespace:
		a.By = ByAnchor
	case strings.HasPrefix(c.Claimant, "rootsync/"):
		a.By = ByRootSync
	case c.How == ownership.Foreign:
		a.Text = a.Name + " (by its marks)"
	}
	return a
}

// nobody names who writes the object at least.
func nobody(f *Facts) Answer {
	var writers []string
	for _, e := range f.Meta.ManagedFields {
		if !slices.Contains(writers, e.Manager) {
			writers = append(writers, e.Manager)
		}
	}
	a := Answer{By: ByNobody, Text: "nobody that left a mark"}
	if len(writers) > 0 {
		slices.Sort(writers)
		a.Text += "; written by " + strings.Join(writers, ", ")
	}
	return a
}
