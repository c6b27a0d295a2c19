// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// subnamespaces takes the time until every namespace says that all is there.
func (m *treesBench) subnamespaces(ctx context.Context, n int) error {
	parent := fmt.Sprintf("team-%d", m.round)
	if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: parent}}); err != nil {
		return err
	}
	if err := m.atRest(ctx); err != nil {
		return err
	}
	return m.completed(ctx, parent+hncv1alpha2.LabelTreeDepthSuffix, n, withHoldfast, func(i int) error {
		a := &hncv1alpha2.SubnamespaceAnchor{ObjectMeta: metav1.ObjectMeta{Namespace: parent, Name: fmt.Sprintf("sub-%d-%d", m.round, i)}}
		return m.Client.Create(ctx, a)
	})
}

// bareSubnamespace makes what Holdfast makes for an anchor, and the anchor, in a
// namespace that is not in a tree.
func (m *treesBench) bareSubnamespace(ctx context.Context, name, label string) error {
	a := &hncv1alpha2.SubnamespaceAnchor{ObjectMeta: metav1.ObjectMeta{Namespace: "bench-0", Name: "a-" + name}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b", "c": "d", label: "f"}}}
	if err := errors.Join(m.bareClient.Create(ctx, a), m.bareClient.Create(ctx, ns), m.bareClient.Create(ctx, hierarchyIn(name, ""))); err != nil {
		return err
	}
	a.Status.State = hncv1alpha2.AnchorForbidden
	patch := client.MergeFrom(ns.DeepCopy())
	ns.Status.Conditions = append(ns.Status.Conditions, corev1.NamespaceCondition{Type: "example.com/Complete", Status: corev1.ConditionTrue})
	return errors.Join(m.bareClient.Update(ctx, a), m.bareClient.Status().Patch(ctx, ns, patch))
}

// completed takes the time until somebody who watches, the same for both columns, has seen a
// condition on each of n namespaces with a label, which an act makes one by one.
func (m *treesBench) completed(ctx context.Context, label string, n, column int, act func(i int) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	namespaces := m.clients.CoreV1().Namespaces()
	events, err := namespaces.Watch(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return err
	}
	defer events.Stop()
	begin := time.Now()
	if err := each(n, treeWriters, act); err != nil {
		return err
	}
	if err := see(ctx, label, events, n, func(e watch.Event) bool {
		ns, ok := e.Object.(*corev1.Namespace)
		return ok && len(ns.Status.Conditions) > 0
	}); err != nil {
		return err
	}
	m.took(subsAppear, column, begin)
	return nil
}
