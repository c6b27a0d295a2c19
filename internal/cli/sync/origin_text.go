// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// text is where an object comes from, in lines.
func (o *origin) text(now time.Time) []string {
	lines := []string{o.headline()}
	detail := func(name, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("  %-12s %s", name+":", value))
		}
	}
	detail("file", o.Path)
	detail("repository", o.RepositoryText())
	detail("commit", o.CommitText())
	detail("RootSync", o.SyncText(now))
	if o.Claims != nil {
		detail("namespace", o.Claims.Namespace+": "+o.Claims.Why)
	}
	for i, m := range o.Managers {
		text := m.Head() + ": " + m.Summary(shownFields)
		if i == 0 {
			detail("fields of", text)
			continue
		}
		lines = append(lines, fmt.Sprintf("  %-12s %s", "", text))
	}
	return lines
}

// headline says whether it is kept, and by whom.
func (o *origin) headline() string {
	text := o.Object.String() + " " + o.Predicate() + "."
	if len(o.Owners) > 0 && (o.Kept == Inherited || o.Kept == Unmanaged) {
		text += fmt.Sprintf(" It belongs to %s: trace that.", o.Owners[0])
	}
	return text
}

// Predicate says of an object whether it is kept, and by whom.
func (p *Provenance) Predicate() string {
	switch p.Kept {
	case Declared:
		return fmt.Sprintf("is kept by RootSync %s as a file of its source declares it", p.RootSync)
	case Implicit:
		return fmt.Sprintf("was made by RootSync %s along the way, for what is in it: no file declares it", p.RootSync)
	case ByRepoSync:
		return fmt.Sprintf("is kept by a RepoSync of Config Sync (%s), and by no RootSync", p.Manager)
	case Inherited:
		return fmt.Sprintf("is kept by no RootSync: it has inherited its annotations from another object (%s)", p.ResourceID)
	case Disabled:
		return fmt.Sprintf("is kept by no RootSync: its annotation %s says %q", object.AnnotationManaged, object.ManagedDisabled)
	case Marked:
		return fmt.Sprintf("is kept by no RootSync: it has some annotations of one, but not %s=%s with its own %s",
			object.AnnotationManaged, object.ManagedEnabled, object.AnnotationResourceID)
	}
	return "is kept by no RootSync"
}

// shownFields is how many fields of a manager are told one by one.
const shownFields = 3

// RepositoryText is the repository with what was followed in it.
func (p *Provenance) RepositoryText() string {
	if p.Repository == "" || p.Ref == "" {
		return p.Repository
	}
	return p.Repository + ", " + p.Ref
}

// CommitText says that an object may be older than what is synced, and as it says.
func (p *Provenance) CommitText() string {
	if p.Commit == "" || p.Sync == nil || p.Sync.LastSyncedCommit == "" || p.Sync.LastSyncedCommit == p.Commit {
		return p.Commit
	}
	return fmt.Sprintf("%s; it has not been written since, and %s is synced", p.Commit, ShortCommit(p.Sync.LastSyncedCommit))
}

// SyncText is how its RootSync is doing; empty if that is not known, or there is none.
func (p *Provenance) SyncText(now time.Time) string {
	switch {
	case p.RootSyncExists == nil:
		return ""
	case !*p.RootSyncExists:
		return fmt.Sprintf("there is none named %s: nobody keeps the object", p.RootSync)
	}
	s := p.Sync
	text := fmt.Sprintf("%s, %s", p.RootSync, s.word())
	if s.LastSyncedCommit != "" {
		text += " " + s.commits(ShortCommit)
	}
	if s.LastSync != nil {
		text += ", " + duration.HumanDuration(now.Sub(s.LastSync.Time)) + " ago"
	}
	if s.Problem != "" {
		text += ": " + s.Problem
	}
	return text
}
