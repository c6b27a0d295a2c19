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
	repository := o.Repository
	if repository != "" && o.Ref != "" {
		repository += ", " + o.Ref
	}
	detail("repository", repository)
	detail("commit", o.commitText())
	detail("RootSync", o.syncText(now))
	if o.Claims != nil {
		detail("namespace", o.Claims.Namespace+": "+o.Claims.Why)
	}
	for i, m := range o.Managers {
		name := ""
		if i == 0 {
			name = "fields of"
		}
		if name == "" {
			lines = append(lines, fmt.Sprintf("  %-12s %s", "", m))
			continue
		}
		detail(name, m.String())
	}
	return lines
}

// headline says whether it is kept, and by whom.
func (o *origin) headline() string {
	name := o.Object.String()
	switch o.Kept {
	case declared:
		return fmt.Sprintf("%s is kept by RootSync %s as a file of its source declares it.", name, o.RootSync)
	case implicit:
		return fmt.Sprintf("%s was made by RootSync %s along the way, for what is in it: no file declares it.", name, o.RootSync)
	case byRepoSync:
		return fmt.Sprintf("%s is kept by a RepoSync of Config Sync (%s), and by no RootSync.", name, o.Manager)
	case inherited:
		return fmt.Sprintf("%s is kept by no RootSync: it has inherited its annotations from another object (%s).%s", name, o.ResourceID, o.ownersText())
	case disabled:
		return fmt.Sprintf("%s is kept by no RootSync: its annotation %s says %q.", name, object.AnnotationManaged, object.ManagedDisabled)
	case marked:
		return fmt.Sprintf("%s is kept by no RootSync: it has some annotations of one, but not %s=%s with its own %s.",
			name, object.AnnotationManaged, object.ManagedEnabled, object.AnnotationResourceID)
	}
	return fmt.Sprintf("%s is kept by no RootSync.%s", name, o.ownersText())
}

func (o *origin) ownersText() string {
	if len(o.Owners) == 0 {
		return ""
	}
	return fmt.Sprintf(" It belongs to %s: trace that.", o.Owners[0])
}

// commitText says that an object may be older than what is synced, and as it says.
func (o *origin) commitText() string {
	if o.Commit == "" || o.Sync == nil || o.Sync.LastSyncedCommit == "" || o.Sync.LastSyncedCommit == o.Commit {
		return o.Commit
	}
	return fmt.Sprintf("%s; it has not been written since, and %s is synced", o.Commit, shortCommit(o.Sync.LastSyncedCommit))
}

func (o *origin) syncText(now time.Time) string {
	switch {
	case o.RootSyncExists == nil:
		return ""
	case !*o.RootSyncExists:
		return fmt.Sprintf("there is none named %s: nobody keeps the object", o.RootSync)
	}
	s := o.Sync
	text := fmt.Sprintf("%s, %s", o.RootSync, s.word())
	if s.LastSyncedCommit != "" {
		text += " " + s.commits(shortCommit)
	}
	if s.LastSync != nil {
		text += ", " + duration.HumanDuration(now.Sub(s.LastSync.Time)) + " ago"
	}
	if s.Problem != "" {
		text += ": " + s.Problem
	}
	return text
}
