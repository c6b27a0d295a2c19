// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// drainsOptions are what the command line of drains says.
type drainsOptions struct{ output string }

func newDrainsCommand(c *clients, runF func(*drainsOptions) error) *cobra.Command {
	o := &drainsOptions{}
	cmd := &cobra.Command{
		Use:   "drains",
		Short: "List the pods that are to be evicted and wait for their operators",
		Long: `List the pods whose eviction was asked for and refused, and that wait for their
operators to move them: on which node, since when, by which EvictionPolicy or by
the rules of the Strimzi Drain Cleaner, how long they are still held, and when
somebody last asked, to about a minute. Of the whole cluster, or with -n of one
namespace. Pods that wait for a PodDisruptionBudget alone are not listed: the API
server does not say.

UNTIL is "terminating" for a pod that is on its way, and "nobody asks any more"
for one whose next eviction counts as the first.

-o json and -o yaml give a WaitingPodList: items with namespace, name, uid, node,
terminating, by, since, lastAsked, deadline, then and lapsed.`,
		Example: `  # What does the upgrade wait for?
  kubectl holdfast drains`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateOutput(o.output, whyFormats); err != nil {
				return err
			}
			return orTest(c.drains, runF)(cmd.Context(), o)
		},
	}
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

// waitingItem is one pod that waits.
type waitingItem struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UID         string `json:"uid"`
	Node        string `json:"node,omitempty"`
	Terminating bool   `json:"terminating,omitempty"`
	waitingPod  `json:",inline"`
}

func (c *clients) drains(ctx context.Context, o *drainsOptions) error {
	namespace := *c.Flags.Namespace // that of the kubeconfig does not count
	var pods []corev1.Pod
	for _, selector := range []string{v1alpha1.EvictingLabel, "strimzi.io/kind=Kafka"} {
		found, err := c.podsWhere(ctx, namespace, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		pods = append(pods, found...)
	}
	policies, err := c.evictionPolicies(ctx)
	if err != nil {
		c.Notef("note: %v; deadlines are not shown", err)
	}
	rules, err := newEvictionRules("", policies)
	if err != nil {
		return err
	}
	now := time.Now()
	return c.printWaitingPods(o.output, waitingItems(pods, rules.settings, now), now)
}

// waitingItems are the pods that wait, each once, in the order of their names.
func waitingItems(pods []corev1.Pod, s policy.Settings, now time.Time) []waitingItem {
	out := []waitingItem{}
	seen := map[types.UID]bool{}
	for i := range pods {
		p := &pods[i]
		w := waitingOf(p, s, now)
		if w == nil || seen[p.UID] {
			continue
		}
		seen[p.UID] = true
		out = append(out, waitingItem{
			Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName,
			Terminating: p.DeletionTimestamp != nil, waitingPod: *w,
		})
	}
	slices.SortFunc(out, func(a, b waitingItem) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (c *clients) printWaitingPods(output string, items []waitingItem, now time.Time) error {
	if output != "" {
		return encodeList(c, output, "WaitingPodList", items)
	}
	if len(items) == 0 {
		c.Notef("Nothing waits.")
		return nil
	}
	ago := func(t *metav1.Time) string {
		if t == nil {
			return "<unknown>"
		}
		return duration.HumanDuration(now.Sub(t.Time)) + " ago"
	}
	lines := make([][]ui.Cell, 0, len(items))
	for _, w := range items {
		left := w.left(now)
		if w.Terminating {
			left = "terminating"
		}
		lines = append(lines, []ui.Cell{
			ui.Text(w.Namespace), ui.Text(w.Name), ui.Text(orNone(w.Node)), ui.Text(w.By.String()),
			ui.Text(ago(&w.Since)), ui.Text(left), ui.Text(ago(w.LastAsked)),
		})
	}
	c.Table([]string{"NAMESPACE", "POD", "NODE", "HELD-BY", "SINCE", "UNTIL", "LAST-ASKED"}, lines)
	return nil
}
