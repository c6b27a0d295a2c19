// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// maxNames is how many of a kind a message names.
const maxNames = 10

// conditions are those of a status, and what time it is.
type conditions struct {
	list []configsyncv1beta1.Condition
	now  metav1.Time
}

// get is nil if there is none of the type.
func (c *conditions) get(t configsyncv1beta1.ConditionType) *configsyncv1beta1.Condition {
	for i := range c.list {
		if c.list[i].Type == t {
			return &c.list[i]
		}
	}
	return nil
}

// set writes a condition, and its times where they change: the one of its last
// transition with the status, the other with anything.
func (c *conditions) set(want configsyncv1beta1.Condition) (changed bool) {
	have := c.get(want.Type)
	if have == nil {
		want.LastUpdateTime, want.LastTransitionTime = c.now, c.now
		c.list = append(c.list, want)
		return true
	}
	want.LastUpdateTime, want.LastTransitionTime = have.LastUpdateTime, have.LastTransitionTime
	if equality.Semantic.DeepEqual(*have, want) {
		return false
	}
	want.LastUpdateTime = c.now
	if have.Status != want.Status {
		want.LastTransitionTime = c.now
	}
	*have = want
	return true
}

// remove is for conditions that are never false.
func (c *conditions) remove(t configsyncv1beta1.ConditionType) {
	c.list = slices.DeleteFunc(c.list, func(have configsyncv1beta1.Condition) bool { return have.Type == t })
}

func (c *conditions) isTrue(t configsyncv1beta1.ConditionType) bool {
	have := c.get(t)
	return have != nil && have.Status == metav1.ConditionTrue
}

// reportWork writes Reconciling and Stalled, and says whether one of them is true. Then,
// and when one of them changes, Syncing means nothing any more and goes.
func (c *conditions) reportWork(f Facts) bool {
	reconciling := c.isTrue(configsyncv1beta1.ConditionReconciling)
	stalled := c.isTrue(configsyncv1beta1.ConditionStalled)
	// Reconciling is there from the beginning, for those who wait until it is false.
	c.set(reconcilingCondition(f))
	switch {
	case f.Stalled != nil:
		c.set(configsyncv1beta1.Condition{
			Type: configsyncv1beta1.ConditionStalled, Status: metav1.ConditionTrue, Reason: f.Stalled.Reason, Message: f.Stalled.Err.Message(),
			ErrorSummary: &configsyncv1beta1.ErrorSummary{TotalCount: 1, ErrorCountAfterTruncation: 1},
		})
	case c.get(configsyncv1beta1.ConditionStalled) != nil:
		c.set(configsyncv1beta1.Condition{Type: configsyncv1beta1.ConditionStalled, Status: metav1.ConditionFalse})
	}
	nowReconciling, nowStalled := c.isTrue(configsyncv1beta1.ConditionReconciling), c.isTrue(configsyncv1beta1.ConditionStalled)
	working := nowReconciling || nowStalled
	if working || reconciling || stalled {
		c.remove(configsyncv1beta1.ConditionSyncing)
	}
	return working
}

func reconcilingCondition(f Facts) configsyncv1beta1.Condition {
	out := configsyncv1beta1.Condition{Type: configsyncv1beta1.ConditionReconciling, Status: metav1.ConditionTrue}
	switch {
	case f.Teardown != nil:
		out.Reason, out.Message = configsyncv1beta1.ReasonTeardown, configsyncv1beta1.MessageDeleting
	case f.Setup != "":
		out.Reason, out.Message = configsyncv1beta1.ReasonSetup, f.Setup
	default:
		out.Status = metav1.ConditionFalse
		return out
	}
	if f.Stalled != nil {
		out.Message = out.Reason + " stalled"
	}
	return out
}

func (c *conditions) reportSuspension(f Facts) {
	if !f.Suspended {
		c.remove(configsyncv1beta1.ConditionSuspended)
		return
	}
	c.set(configsyncv1beta1.Condition{
		Type: configsyncv1beta1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: configsyncv1beta1.ReasonSuspended,
		Message: fmt.Sprintf("nothing is synced or put back until the annotation %q is removed", configsyncv1beta1.AnnotationSuspend),
	})
}

func (c *conditions) reportTeardown(f Facts) {
	if f.Teardown == nil {
		c.remove(configsyncv1beta1.ConditionFinalizing)
		c.remove(configsyncv1beta1.ConditionFinalizerFailure)
		return
	}
	c.set(configsyncv1beta1.Condition{
		Type: configsyncv1beta1.ConditionFinalizing, Status: metav1.ConditionTrue,
		Reason: configsyncv1beta1.ReasonResourcesDeleting, Message: configsyncv1beta1.MessageDeleting,
	})
	if len(f.Teardown.Errors) == 0 {
		c.remove(configsyncv1beta1.ConditionFinalizerFailure)
		return
	}
	failure := configsyncv1beta1.Condition{
		Type: configsyncv1beta1.ConditionFinalizerFailure, Status: metav1.ConditionTrue,
		Reason: configsyncv1beta1.ReasonDestroyFailure, Message: configsyncv1beta1.MessageDeleteFailed,
	}
	failure.Errors, failure.ErrorSummary = reported(f.Teardown.Errors, max(f.Share, 1))
	c.set(failure)
}

// reportNamespaces writes nothing where no namespace was ever missing.
func (c *conditions) reportNamespaces(missing []string) {
	if len(missing) == 0 {
		if c.get(configsyncv1beta1.ConditionNamespacesReady) != nil {
			c.set(configsyncv1beta1.Condition{
				Type: configsyncv1beta1.ConditionNamespacesReady, Status: metav1.ConditionTrue,
				Reason: configsyncv1beta1.ReasonNamespacesExist, Message: "all namespaces that are used exist",
			})
		}
		return
	}
	c.set(configsyncv1beta1.Condition{
		Type: configsyncv1beta1.ConditionNamespacesReady, Status: metav1.ConditionFalse,
		Reason: configsyncv1beta1.ReasonNamespaceMissing, Message: missingMessage(missing),
	})
}

// reportContest says who else declares what the RootSync has: the others have an error, and
// whoever has the namespace has none.
func (c *conditions) reportContest(contested map[string][]object.Sync) {
	switch {
	case contested == nil:
	case len(contested) == 0:
		c.remove(configsyncv1beta1.ConditionNamespacesContested)
	default:
		c.set(configsyncv1beta1.Condition{
			Type: configsyncv1beta1.ConditionNamespacesContested, Status: metav1.ConditionTrue,
			Reason: configsyncv1beta1.ReasonDeclaredTwice, Message: contestMessage(contested),
		})
	}
}

func contestMessage(contested map[string][]object.Sync) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(contested)) {
		var who []string
		for _, sync := range contested[name] {
			who = append(who, "RootSync "+string(sync))
		}
		items = append(items, fmt.Sprintf("%s (%s)", name, strings.Join(listed(who), ", ")))
	}
	return "these namespaces are this RootSync's, and others declare them too: " + strings.Join(listed(items), ", ") + "; declare each in one source only"
}

// listed are the first of many names, and how many more there are.
func listed(names []string) []string {
	if left := len(names) - maxNames; left > 0 {
		return append(slices.Clone(names[:maxNames]), fmt.Sprintf("and %d more", left))
	}
	return names
}

func missingMessage(missing []string) string {
	names := slices.Clone(missing)
	slices.Sort(names)
	names = slices.Compact(names)
	more := ""
	if left := len(names) - maxNames; left > 0 {
		names, more = names[:maxNames], fmt.Sprintf(" and %d more", left)
	}
	return "these namespaces are used and do not exist: " + strings.Join(names, ", ") + more + "; declare them in a source, or create them"
}
