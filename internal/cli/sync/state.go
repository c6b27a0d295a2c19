// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
)

const none = "<none>"

// state is how a RootSync is doing, in a word.
type state string

const (
	// synced: what the source says is in the cluster.
	synced state = "Synced"
	// syncing: a commit is fetched, rendered or applied.
	syncing state = "Syncing"
	// pending: nobody has looked at it, or at how it is now.
	pending state = "Pending"
	// stalled: nothing goes on until somebody mends the RootSync.
	stalled state = "Stalled"
	// failed: it has ended with errors.
	failed state = "Failed"
	// suspended: nothing goes on because somebody said so.
	suspended state = "Suspended"
	// deleting: it goes.
	deleting state = "Deleting"
)

// Synced is the state of a RootSync for which nothing is left to do.
const Synced = string(synced)

// StateOf is how a RootSync is doing, in the word that "sync status" has for it.
func StateOf(rs *configsyncv1beta1.RootSync) string { return string(stateOf(rs)) }

// inventories are ResourceGroups by the names of their RootSyncs.
type inventories map[string]*kptv1alpha1.ResourceGroup

// progress is how many objects have become what they should be.
type progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// item is what is said of one RootSync.
type item struct {
	Name   string `json:"name"`
	Source source `json:"source"`
	State  state  `json:"state"`
	// Commit is the newest that was fetched.
	Commit string `json:"commit,omitempty"`
	// LastSyncedCommit is the last that was synced without an error.
	LastSyncedCommit string       `json:"lastSyncedCommit,omitempty"`
	LastSync         *metav1.Time `json:"lastSync,omitempty"`
	// Progress is there while it is syncing, if it is known.
	Progress *progress `json:"progress,omitempty"`
	// ErrorCount is that of all errors, of which the status may not have all.
	ErrorCount int                       `json:"errorCount,omitempty"`
	Errors     []configsyncv1beta1.Error `json:"errors,omitempty"`
	// Problem says in a line what is wrong and what to do.
	Problem string `json:"problem,omitempty"`
}

// itemOf says how a RootSync is doing. Its inventory may be nil.
func itemOf(rs *configsyncv1beta1.RootSync, inventory *kptv1alpha1.ResourceGroup) item {
	s := &rs.Status
	i := item{
		Name: rs.Name, Source: sourceOf(rs.Spec), State: stateOf(rs),
		Commit:           cmp.Or(s.Source.Commit, s.Rendering.Commit, s.Sync.Commit),
		LastSyncedCommit: s.LastSyncedCommit,
	}
	if !s.Sync.LastUpdate.IsZero() {
		i.LastSync = &s.Sync.LastUpdate
	}
	i.Errors, i.ErrorCount = errorsOf(rs, i.State)
	if i.State == syncing {
		i.Progress = progressOf(inventory)
	}
	i.Problem = problemOf(rs, &i, inventory)
	return i
}

func stateOf(rs *configsyncv1beta1.RootSync) state {
	s := &rs.Status
	syncs := condition(rs, configsyncv1beta1.ConditionSyncing)
	switch {
	case rs.DeletionTimestamp != nil:
		return deleting
	case asksForSuspension(rs) || isTrue(rs, configsyncv1beta1.ConditionSuspended):
		return suspended
	case s.ObservedGeneration != rs.Generation:
		return pending
	case isTrue(rs, configsyncv1beta1.ConditionStalled):
		return stalled
	case isTrue(rs, configsyncv1beta1.ConditionReconciling) || syncs == nil:
		return pending
	case syncs.Status == metav1.ConditionTrue:
		return syncing
	}
	if _, count := errorsOf(rs, failed); count > 0 {
		return failed
	}
	if s.Source.Commit != s.Sync.Commit {
		return syncing // it is about to begin
	}
	return synced
}

func asksForSuspension(rs *configsyncv1beta1.RootSync) bool {
	return rs.Annotations[configsyncv1beta1.AnnotationSuspend] == valueTrue
}

// condition is nil if there is none of the type.
func condition(rs *configsyncv1beta1.RootSync, t configsyncv1beta1.ConditionType) *configsyncv1beta1.Condition {
	i := slices.IndexFunc(rs.Status.Conditions, func(c configsyncv1beta1.Condition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &rs.Status.Conditions[i]
}

func isTrue(rs *configsyncv1beta1.RootSync, t configsyncv1beta1.ConditionType) bool {
	c := condition(rs, t)
	return c != nil && c.Status == metav1.ConditionTrue
}

// errorsOf are the errors about the commit that the RootSync is at, those that the status
// has, and how many there are.
func errorsOf(rs *configsyncv1beta1.RootSync, st state) (list []configsyncv1beta1.Error, count int) {
	if st == deleting {
		if c := condition(rs, configsyncv1beta1.ConditionFinalizerFailure); c != nil && c.Status == metav1.ConditionTrue {
			return c.Errors, total(c.ErrorSummary, c.Errors)
		}
		return nil, 0
	}
	if st != syncing && st != failed {
		return nil, 0
	}
	for _, stage := range stagesOf(rs) {
		list = append(list, stage.Errors...)
		count += total(stage.ErrorSummary, stage.Errors)
	}
	return list, count
}

// stagesOf are the parts of the status whose errors count: those that the condition
// names, since others may still be about the commit before.
func stagesOf(rs *configsyncv1beta1.RootSync) (out []*configsyncv1beta1.StageStatus) {
	s := &rs.Status
	syncs := condition(rs, configsyncv1beta1.ConditionSyncing)
	for _, stage := range []struct {
		name   configsyncv1beta1.ErrorSource
		status *configsyncv1beta1.StageStatus
	}{
		{configsyncv1beta1.SourceErrors, &s.Source.StageStatus},
		{configsyncv1beta1.RenderingErrors, &s.Rendering.StageStatus},
		{configsyncv1beta1.SyncErrors, &s.Sync.StageStatus},
	} {
		if syncs != nil && slices.Contains(syncs.ErrorSourceRefs, stage.name) {
			out = append(out, stage.status)
		}
	}
	return out
}

func total(summary *configsyncv1beta1.ErrorSummary, list []configsyncv1beta1.Error) int {
	if summary == nil {
		return len(list)
	}
	return max(summary.TotalCount, len(list))
}

// progressOf counts in an inventory; nil if it does not say.
func progressOf(inventory *kptv1alpha1.ResourceGroup) *progress {
	if inventory == nil || inventory.Status == nil || len(inventory.Status.ResourceStatuses) == 0 {
		return nil
	}
	p := &progress{Total: len(inventory.Status.ResourceStatuses)}
	for _, r := range inventory.Status.ResourceStatuses {
		if r.Actuation != kptv1alpha1.ActuationPending && r.Reconcile != kptv1alpha1.ReconcilePending {
			p.Done++
		}
	}
	return p
}

// word is the state for a table.
func (i *item) word() string {
	text := string(i.State)
	if i.Progress != nil {
		text += fmt.Sprintf(" %d/%d", i.Progress.Done, i.Progress.Total)
	}
	if i.ErrorCount > 0 {
		text += fmt.Sprintf(", %s", counted(i.ErrorCount, "error"))
	}
	if i.State == failed {
		text = "Failed, " + counted(i.ErrorCount, "error")
	}
	return text
}

// commits are that which was last synced without an error and, behind an arrow, that
// which is to be.
func (i *item) commits(show func(string) string) string {
	last, now := show(i.LastSyncedCommit), show(i.Commit)
	switch {
	case now == "" && last == "":
		return none
	case now == "" || now == last:
		return last
	case last == "":
		return "→ " + now
	}
	return last + " → " + now
}
