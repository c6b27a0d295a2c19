// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// extent is where get looks for objects.
type extent struct {
	// root is the namespace that everything is below; empty for the whole cluster.
	root string
	// namespaces are those of the subtree, in the order of their names.
	namespaces []string
	// fixed is why it cannot be seen which namespaces come and go, if so.
	fixed string
}

// everywhere says whether the whole cluster is meant.
func (e *extent) everywhere() bool { return e.root == "" }

// selector is for the namespaces of the extent.
func (e *extent) selector() string { return e.root + hncv1alpha2.LabelTreeDepthSuffix }

// subtree finds the namespaces below the one of -n or of the kubeconfig: by their
// labels in one list where that is allowed, else by what each says of its
// children.
func (c *client) subtree(ctx context.Context) (*extent, error) {
	root, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	s, err := c.surveyor()
	if err != nil {
		return nil, err
	}
	e := &extent{root: root}
	labelled, err := listMetadata(ctx, s.metadata.Resource(namespacesResource), metav1.ListOptions{LabelSelector: e.selector()})
	switch {
	case apierrors.IsForbidden(err):
		e.fixed = err.Error()
		return e, c.walk(ctx, s, e)
	case err != nil:
		return nil, fmt.Errorf("list the namespaces below %s: %w", root, err)
	}
	names := sets.New(root)
	for _, ns := range labelled {
		names.Insert(ns.Name)
	}
	if len(labelled) == 0 {
		// It is in no tree, or does not exist.
		if _, err := s.namespace(ctx, root); apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	e.namespaces = slices.Sorted(maps.Keys(names))
	return e, nil
}

// walk finds the namespaces of an extent one by one. What is below one that cannot
// be read is not found, and said.
func (c *client) walk(ctx context.Context, s *surveyor, e *extent) error {
	found := s.survey(ctx, []string{e.root})
	if root := found[e.root]; root.problem != "" {
		return c.fail("%s", root.problem)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m := found[name]
		if m.gone {
			continue
		}
		e.namespaces = append(e.namespaces, name)
		if m.problem != "" {
			c.Notef("what is below %s is not known: %s", name, m.problem)
		}
	}
	return nil
}
