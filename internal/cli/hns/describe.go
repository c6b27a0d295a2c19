// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

func newDescribeCommand(c *client) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAMESPACE",
		Short: "Show where a namespace stands in its tree, and what is wrong",
		Long: `Show where a namespace stands in its tree: its parent, its children and which of
them are subnamespaces, its conditions, and recent events about its objects.`,
		Args:              oneArgument("the name of a namespace"),
		ValidArgsFunction: c.completeNamespaces(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.describe(cmd.Context(), args[0]) },
	}
}

// description is what is to be told of a namespace.
type description struct {
	namespace corev1.Namespace
	hierarchy hncv1alpha2.HierarchyConfiguration
	anchors   []hncv1alpha2.SubnamespaceAnchor
	events    []corev1.Event
}

// reading is a description with what could not be read of it.
type reading struct {
	description
	namespaceErr, hierarchyErr, anchorsErr, eventsErr error
}

func (c *client) describe(ctx context.Context, name string) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	r := readDescription(ctx, client, name)
	c.Printf("Hierarchy configuration for namespace %s\n", name)
	switch {
	case r.namespaceErr != nil:
		return c.fail("%s", namespaceProblem(name, r.namespaceErr))
	case r.hierarchyErr != nil:
		return c.fail("%s", hierarchyProblem(name, r.hierarchyErr))
	case r.anchorsErr != nil:
		return c.fail("Error listing subnamespace anchors for %s: %s", name, r.anchorsErr)
	}
	c.Printf("%s", r.text())
	if r.eventsErr == nil {
		c.Printf("%s", eventsText(name, r.events, time.Now()))
	} else {
		// Not a failure for HNC's plugin either, which says that there are none.
		c.Notef("the events in namespace %s are not known: %v", name, r.eventsErr)
	}
	return nil
}

func readDescription(ctx context.Context, client dynamic.Interface, name string) *reading {
	r := &reading{}
	var group errgroup.Group
	group.Go(func() error {
		r.namespaceErr = readInto(ctx, client.Resource(namespacesResource), name, &r.namespace)
		return nil
	})
	group.Go(func() error {
		r.hierarchyErr = readInto(ctx, client.Resource(hierarchiesResource).Namespace(name), hncv1alpha2.HierarchyConfigurationName, &r.hierarchy)
		if apierrors.IsNotFound(r.hierarchyErr) {
			r.hierarchyErr = nil
		}
		return nil
	})
	group.Go(func() error {
		r.anchors, r.anchorsErr = listTyped[hncv1alpha2.SubnamespaceAnchor](ctx, client.Resource(anchorsResource).Namespace(name), metav1.ListOptions{})
		if apierrors.IsNotFound(r.anchorsErr) {
			r.anchorsErr = nil
		}
		return nil
	})
	group.Go(func() error {
		r.events, r.eventsErr = listTyped[corev1.Event](ctx, client.Resource(eventsResource).Namespace(name),
			metav1.ListOptions{FieldSelector: "source=" + hncv1alpha2.EventSource})
		return nil
	})
	_ = group.Wait() // each keeps its error
	return r
}

func readInto[T any](ctx context.Context, client dynamic.ResourceInterface, name string, out *T) error {
	o, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	typed, err := decode[T](o)
	if err != nil {
		return err
	}
	*out = *typed
	return nil
}
