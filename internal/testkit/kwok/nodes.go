// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// soon bounds what kwok and the controllers of Kubernetes do; it takes a second or two on an idle
	// machine.
	soon  = 3 * time.Minute
	often = 50 * time.Millisecond
)

// AddNodes makes nodes and waits until they are Ready.
func (p *Process) AddNodes(ctx context.Context, c client.Client, names ...string) error {
	for _, name := range names {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				labelKey: p.label, corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			},
		}}
		if err := c.Create(ctx, node); err != nil {
			return fmt.Errorf("make node %s: %w", name, err)
		}
	}
	for _, name := range names {
		err := p.until(ctx, func(ctx context.Context) (bool, error) {
			var node corev1.Node
			if err := c.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
				return false, err
			}
			return NodeReady(&node), nil
		})
		if err != nil {
			return fmt.Errorf("wait until node %s is ready: %w", name, err)
		}
	}
	return nil
}

// RemoveNodes removes the nodes that kwok plays. The pods on them are removed by the cluster, which takes
// its time.
func (p *Process) RemoveNodes(ctx context.Context, c client.Client) error {
	if err := c.DeleteAllOf(ctx, &corev1.Node{}, client.MatchingLabels(p.NodeLabels())); err != nil {
		return fmt.Errorf("remove the nodes: %w", err)
	}
	return nil
}

// NodeReady says whether a node is Ready and the cluster lets pods onto it: it takes away the taint of new
// nodes a moment after they are Ready.
func NodeReady(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// until waits for something that kwok does.
func (p *Process) until(ctx context.Context, done wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextTimeout(ctx, often, soon, true, func(ctx context.Context) (bool, error) {
		if err := p.running(); err != nil {
			return false, err
		}
		return done(ctx)
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w; kwok's log ends:\n%s", err, p.LogTail())
	}
	return err
}
