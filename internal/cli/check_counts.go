// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/check"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// countProtected counts the objects that carry a label that protects, and the marks.
func (c *clients) countProtected(ctx context.Context, _ *configv1alpha1.HoldfastConfiguration) ([]check.Count, []error) {
	found, problems := c.labelled(ctx, "", "")
	counts := map[string]int{}
	for _, t := range found {
		for _, label := range searched() {
			if _, there := t.meta.Labels[label]; there {
				counts["objects with "+label]++
			}
		}
	}
	return check.Sorted(counts), problems
}

// countEvictions counts the pods that a drain of their node would not just evict.
func (c *clients) countEvictions(ctx context.Context, by *configv1alpha1.HoldfastConfiguration) ([]check.Count, []error) {
	policies, err := c.evictionPolicies(ctx)
	if err != nil {
		return nil, []error{err}
	}
	text, err := config.Encode(by)
	if err != nil {
		return nil, []error{err}
	}
	rules, err := newEvictionRules(string(text), policies)
	if err != nil {
		return nil, []error{err}
	}
	counts := map[string]int{}
	err = c.eachPod(ctx, func(p *corev1.Pod, namespace *metav1.ObjectMeta) {
		j := rules.judge(policy.Facts{
			Request: policy.Request{Namespace: p.Namespace, Name: p.Name, DryRun: true},
			Pod:     p, Namespace: namespace, Node: &policy.Node{Draining: true}, Now: time.Now(),
		})
		if j.inScope && !j.verdict.Allowed {
			counts[heldText(decider(j.verdict))]++
		}
	})
	var problems []error
	for _, text := range rules.broken {
		problems = append(problems, errors.New(text))
	}
	return check.Sorted(counts), append(problems, err)
}

func heldText(by heldBy) string {
	const pods = "pods that their node could not be drained of until they were moved, by "
	switch by.Kind {
	case byPolicy:
		return pods + "EvictionPolicies"
	case byDrainCleaner:
		return pods + "the Drain Cleaner's rules"
	}
	return pods + by.Kind
}

// eachPod hands over all pods, each with its namespace.
func (c *clients) eachPod(ctx context.Context, do func(*corev1.Pod, *metav1.ObjectMeta)) error {
	restConfig, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return err
	}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	byName := map[string]*metav1.ObjectMeta{}
	for i := range namespaces.Items {
		byName[namespaces.Items[i].Name] = &namespaces.Items[i].ObjectMeta
	}
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
	})
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		if p, ok := o.(*corev1.Pod); ok && p.DeletionTimestamp == nil {
			ns := byName[p.Namespace]
			if ns == nil {
				ns = bareNamespace(p.Namespace)
			}
			do(p, ns)
		}
		return nil
	})
}

// countAccounts counts what turning service accounts on would do.
func (c *clients) countAccounts(ctx context.Context, _ *configv1alpha1.HoldfastConfiguration) ([]check.Count, []error) {
	s, gaps, err := serviceaccount.Count(ctx, c.Clients)
	problems := []error{err}
	for _, g := range gaps {
		problems = append(problems, fmt.Errorf("%s: %s", g.Part, g.Reason))
	}
	counts := map[string]int{
		"service accounts that objects want": s.Accounts, "service accounts that would be written": s.Changing, "service accounts that would be made": s.Created,
		"labels and annotations that would be changed": s.Changed, "labels and annotations that would be taken away": s.Removed,
		"service accounts about which others have their say": s.Conflicts,
	}
	return check.Sorted(counts), problems
}
