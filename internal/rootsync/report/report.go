// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Report is the status of a RootSync after a former one, which may be Config Sync's.
// kstatus reads it as current unless Reconciling or Stalled is true; errors of objects do
// not change that, and stand in Syncing.
func Report(f Facts, former configsyncv1beta1.RootSyncStatus, now time.Time) configsyncv1beta1.RootSyncStatus {
	s := *former.DeepCopy()
	s.ObservedGeneration = f.Generation
	s.Reconciler = f.Sync.Reconciler()
	c := &conditions{list: s.Conditions, now: metav1.NewTime(now).Rfc3339Copy()}
	working := c.reportWork(f)
	c.reportSuspension(f)
	c.reportTeardown(f)
	c.reportContest(f.Contested)
	if f.Progress != nil {
		reportProgress(*f.Progress, max(f.Share, 1), !working, &s, c)
	}
	s.Conditions = c.list
	return s
}

// reportProgress writes the three parts, and the condition about them where it counts.
func reportProgress(p Progress, share int, counts bool, s *configsyncv1beta1.RootSyncStatus, c *conditions) {
	parts := [3]*configsyncv1beta1.StageStatus{&s.Source.StageStatus, &s.Rendering.StageStatus, &s.Sync.StageStatus}
	p.Synced = p.Synced.after(s.Sync.Commit)
	changed := reportParts(p, share, parts)
	if message := renderingMessage(p); !p.Rendered.empty() && s.Rendering.Message != message {
		s.Rendering.Message, changed[AtRendering] = message, true
	}
	if counts {
		changed[p.At] = reportSyncing(p, parts, changed[p.At], c)
	}
	for i, part := range parts {
		if changed[i] {
			part.LastUpdate = c.now
		}
	}
	if p.clean() {
		s.LastSyncedCommit = p.Synced.Commit
	}
	if !p.Synced.empty() {
		c.reportNamespaces(p.Missing)
	}
}

// after is a result as it is told after one for another commit: what was refused right after
// a start takes nothing back.
func (r Result) after(commit string) Result {
	if !r.Running && len(r.Errors) > 0 && r.Commit == "" {
		r.Commit = commit
	}
	return r
}

// reportParts says which parts have changed.
func reportParts(p Progress, share int, parts [3]*configsyncv1beta1.StageStatus) (changed [3]bool) {
	for i, r := range p.results() {
		// Who waits for a commit waits until it is applied, and not until that begins.
		want := stageStatus(r, *parts[i], Stage(i) == AtSync && r.Running, share)
		changed[i] = !equality.Semantic.DeepEqual(*parts[i], want)
		*parts[i] = want
	}
	return changed
}

// reportSyncing writes the condition Syncing, which is as old as the part that it is
// about: that changes with it, and it with that.
func reportSyncing(p Progress, parts [3]*configsyncv1beta1.StageStatus, partChanged bool, c *conditions) (changed bool) {
	result := p.results()[p.At]
	if result.empty() {
		return partChanged
	}
	want := syncing(p, result)
	want.ErrorSourceRefs, want.ErrorSummary = countUntil(p.At, parts)
	if c.set(want) {
		return true
	}
	if partChanged {
		c.get(want.Type).LastUpdateTime = c.now
	}
	return partChanged
}

// clean reports whether a commit is applied, and no stage has an error about it: neither about objects, nor about files of
// which the rest was applied.
func (p Progress) clean() bool {
	for _, r := range p.results() {
		if r.Commit == p.Synced.Commit && len(r.Errors) > 0 {
			return false
		}
	}
	return !p.Synced.Running && p.Synced.Commit != ""
}

func (p Progress) results() [3]Result { return [3]Result{p.Fetched, p.Rendered, p.Synced} }

// stageStatus is a part of the status. Where its place is kept, only its errors are new.
func stageStatus(r Result, former configsyncv1beta1.StageStatus, keepPlace bool, share int) configsyncv1beta1.StageStatus {
	if r.empty() {
		return former
	}
	s := former
	if !keepPlace {
		s.Git, s.OCI = place(r.Source)
		s.Helm, s.Commit = nil, r.Commit
	}
	s.Errors, s.ErrorSummary = reported(r.Errors, share)
	return s
}

func place(s spec.Source) (*configsyncv1beta1.GitStatus, *configsyncv1beta1.OCIStatus) {
	switch s.Type {
	case configsyncv1beta1.SourceGit:
		return &configsyncv1beta1.GitStatus{Repo: s.Shown(), Revision: s.Revision, Branch: s.Branch, Dir: s.Dir}, nil
	case configsyncv1beta1.SourceOCI:
		return nil, &configsyncv1beta1.OCIStatus{Image: s.Shown(), Dir: s.Dir}
	}
	return nil, nil
}

func renderingMessage(p Progress) string {
	switch {
	case p.Rendered.Running:
		return configsyncv1beta1.MessageRendering
	case len(p.Rendered.Errors) > 0:
		return configsyncv1beta1.MessageRenderingFailed
	case p.Plain:
		return configsyncv1beta1.MessageRenderingSkipped
	}
	return configsyncv1beta1.MessageRenderingDone
}

// syncing is the condition about a stage, without the errors.
func syncing(p Progress, r Result) configsyncv1beta1.Condition {
	out := configsyncv1beta1.Condition{Type: configsyncv1beta1.ConditionSyncing, Status: metav1.ConditionFalse, Commit: r.Commit}
	// The next stage begins where there is one and nothing is wrong.
	if r.Running || p.At != AtSync && len(r.Errors) == 0 {
		out.Status = metav1.ConditionTrue
	}
	switch p.At {
	case AtSource:
		out.Reason, out.Message = configsyncv1beta1.ReasonSource, configsyncv1beta1.MessageSource
	case AtRendering:
		out.Reason, out.Message = configsyncv1beta1.ReasonRendering, renderingMessage(p)
	case AtSync:
		out.Reason, out.Message = configsyncv1beta1.ReasonSync, configsyncv1beta1.MessageSynced
		if r.Running {
			out.Message = configsyncv1beta1.MessageSyncing
		}
	}
	return out
}
