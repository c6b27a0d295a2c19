// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// text is the description but for its first line and its events.
func (d *description) text() string {
	var b strings.Builder
	if d.hierarchy.Spec.Parent == "" {
		b.WriteString("  No parent\n")
	} else {
		b.WriteString("  Parent: " + d.hierarchy.Spec.Parent + "\n")
	}
	block(&b, "Children", "No children", d.children())
	fmt.Fprintf(&b, "  Allows Cascading Deletion: %t\n", d.hierarchy.Spec.AllowCascadingDeletion)
	b.WriteString(propagationText(d.namespace.Status.Conditions))
	var conditions []string
	for _, c := range d.hierarchy.Status.Conditions {
		conditions = append(conditions, conditionText(c))
	}
	block(&b, "Conditions", "No conditions", conditions)
	return b.String()
}

func block(b *strings.Builder, title, none string, items []string) {
	if len(items) == 0 {
		b.WriteString("  " + none + "\n")
		return
	}
	b.WriteString("  " + title + ":\n")
	for _, item := range items {
		b.WriteString("  - " + item + "\n")
	}
}

// children are the namespaces below this one, and the anchors that have none, each
// with what it is.
func (d *description) children() []string {
	kinds := map[string]string{}
	for _, child := range d.hierarchy.Status.Children {
		kinds[child] = ""
	}
	for i := range d.anchors {
		a := &d.anchors[i]
		if _, ok := kinds[a.Name]; ok {
			kinds[a.Name] = " (subnamespace)"
		} else {
			state := cmp.Or(a.Status.State, hncv1alpha2.AnchorMissing) // nobody has looked at it yet
			kinds[a.Name] = " (" + string(state) + " subnamespace)"
		}
	}
	var out []string
	for name, kind := range kinds {
		out = append(out, name+kind)
	}
	slices.Sort(out)
	return out
}

// propagationText is a line that HNC's plugin does not have. It stands before the
// conditions, where it is in no list.
func propagationText(conditions []corev1.NamespaceCondition) string {
	for _, c := range conditions {
		if c.Type != v1alpha1.ConditionPropagationComplete {
			continue
		}
		line := "  Propagation Complete: " + strings.ToLower(string(c.Status))
		if c.Status != corev1.ConditionTrue {
			line += " (" + c.Reason + "): " + c.Message
		}
		return line + "\n"
	}
	return ""
}

// eventsText shows each event once, with its latest time, the latest first.
func eventsText(namespace string, events []corev1.Event, now time.Time) string {
	// The API server has selected by source already, by a field that falls back
	// on the reporting controller.
	events = slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool {
		return cmp.Or(e.Source.Component, e.ReportingController) != hncv1alpha2.EventSource
	})
	if len(events) == 0 {
		return "\nNo recent HNC events for objects in this namespace\n"
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	var b strings.Builder
	fmt.Fprintf(&b, "\nEvents from the objects in namespace %s\n", namespace)
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "Last Seen\tReason\tObject\tMessage")
	shown := map[string]bool{}
	for i := range events {
		e := &events[i]
		object := e.InvolvedObject.Kind + ":" + e.InvolvedObject.Namespace + "/" + ui.Name(e.InvolvedObject.Name)
		if shown[e.Reason+object] {
			continue
		}
		shown[e.Reason+object] = true
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", duration.HumanDuration(now.Sub(lastSeen(*e))), e.Reason, object, strings.ReplaceAll(strings.TrimSpace(e.Message), "\n", `\n`))
	}
	_ = w.Flush() // to memory
	return b.String()
}

// lastSeen is when an event last happened. Which field says so depends on the API
// by which it was sent.
func lastSeen(e corev1.Event) time.Time {
	times := []metav1.Time{e.LastTimestamp}
	if e.Series != nil {
		times = append(times, metav1.Time(e.Series.LastObservedTime))
	}
	times = append(times, metav1.Time(e.EventTime), e.FirstTimestamp, e.CreationTimestamp)
	i := slices.IndexFunc(times, func(t metav1.Time) bool { return !t.IsZero() })
	if i < 0 {
		return time.Time{}
	}
	return times[i].Time
}
