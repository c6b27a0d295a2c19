// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

// longestNote is what the API server takes as the text of an event, in bytes.
const longestNote = 1000

// event is something that people are told once.
type event struct{ kind, reason, action, note string }

// say makes events about an object, a RootSync as it was before the write that they follow from: its
// version tells them apart from those of the same reason that follow from other writes,
// which would be counted under the text of the first.
func (s *Syncer) say(about runtime.Object, list []event) {
	for _, e := range list {
		note := e.note
		if len(note) > longestNote {
			note = strings.ToValidUTF8(note[:longestNote], "") + "…"
		}
		s.events.Eventf(about, nil, e.kind, e.reason, e.action, "%s", note)
	}
}

// eventsOf are those of a change of the status: one for each outcome. What an earlier
// process has written it has told as well.
func eventsOf(former, next configsyncv1beta1.RootSyncStatus) []event {
	return slices.Concat(ofCommit(former, next), ofErrors(former, next), ofConditions(former, next))
}

// ofCommit are about a commit that is applied, or is again.
func ofCommit(former, next configsyncv1beta1.RootSyncStatus) []event {
	switch commit := next.LastSyncedCommit; {
	case commit == "":
		return nil
	case commit != former.LastSyncedCommit:
		return []event{{corev1.EventTypeNormal, "Synced", "Sync", fmt.Sprintf("Commit %s is applied and ready", commit)}}
	case hasErrors(former) && !hasErrors(next) && commit == next.Source.Commit && isSet(next, configsyncv1beta1.ConditionSyncing, metav1.ConditionFalse):
		return []event{{corev1.EventTypeNormal, "Recovered", "Sync", fmt.Sprintf("Commit %s is applied and ready again", commit)}}
	}
	return nil
}

func hasErrors(s configsyncv1beta1.RootSyncStatus) bool {
	return len(s.Source.Errors)+len(s.Rendering.Errors)+len(s.Sync.Errors) > 0
}

// ofErrors are about errors that are not those of before, be it for the same commit.
func ofErrors(former, next configsyncv1beta1.RootSyncStatus) (out []event) {
	for _, stage := range []struct {
		reason, action string
		former, next   []configsyncv1beta1.Error
	}{
		{"SourceError", "Sync", former.Source.Errors, next.Source.Errors},
		{"RenderingError", "Sync", former.Rendering.Errors, next.Rendering.Errors},
		{"SyncError", "Sync", former.Sync.Errors, next.Sync.Errors},
		{"TeardownError", "Delete", teardownErrors(former), teardownErrors(next)},
	} {
		if len(stage.next) > 0 && !equality.Semantic.DeepEqual(stage.former, stage.next) {
			out = append(out, event{corev1.EventTypeWarning, stage.reason, stage.action, summary(stage.next)})
		}
	}
	return out
}

func teardownErrors(s configsyncv1beta1.RootSyncStatus) []configsyncv1beta1.Error {
	if c := conditionOf(s, configsyncv1beta1.ConditionFinalizerFailure); c.Status == metav1.ConditionTrue {
		return c.Errors
	}
	return nil
}

// ofConditions are about conditions that have become true, or say something else.
func ofConditions(former, next configsyncv1beta1.RootSyncStatus) (out []event) {
	for _, told := range []struct {
		about          configsyncv1beta1.ConditionType
		kind, action   string
		over, overNote string
	}{
		{configsyncv1beta1.ConditionStalled, corev1.EventTypeWarning, "Read", "", ""},
		{configsyncv1beta1.ConditionSuspended, corev1.EventTypeNormal, "Suspend", "Resumed", "it is synced again, and what was changed meanwhile is put back"},
		{configsyncv1beta1.ConditionNamespacesContested, corev1.EventTypeWarning, "Claim", "", ""},
	} {
		was, is := conditionOf(former, told.about), conditionOf(next, told.about)
		switch {
		case is.Status == metav1.ConditionTrue && (was.Status != is.Status || was.Message != is.Message):
			out = append(out, event{told.kind, string(told.about), told.action, firstLine(is.Message)})
		case is.Status != metav1.ConditionTrue && was.Status == metav1.ConditionTrue && told.over != "":
			out = append(out, event{told.kind, told.over, told.action, told.overNote})
		}
	}
	return out
}

// conditionOf is one of a status, or one that says nothing.
func conditionOf(s configsyncv1beta1.RootSyncStatus, about configsyncv1beta1.ConditionType) configsyncv1beta1.Condition {
	for _, c := range s.Conditions {
		if c.Type == about {
			return c
		}
	}
	return configsyncv1beta1.Condition{}
}

func summary(list []configsyncv1beta1.Error) string {
	text := firstLine(list[0].ErrorMessage)
	if len(list) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(list)-1)
	}
	return text
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
