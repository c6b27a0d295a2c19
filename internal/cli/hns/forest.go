// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// member is a namespace of a tree, as its HierarchyConfiguration has it.
type member struct {
	name, parent string
	// children are in the order of their names.
	children   []string
	conditions []metav1.Condition
	// subnamespace says that it has an anchor for its parent.
	subnamespace bool

	// gone says that there is no such namespace.
	gone bool
	// problem says, in HNC's words, why nothing is known of it.
	problem string
}

// forest is what is known of namespaces, by name.
type forest map[string]*member

// has says whether a namespace is listed as the child of another.
func (m *member) has(child string) bool { return slices.Contains(m.children, child) }

// surveyor finds out about namespaces: from lists of all, which take a few
// requests however many there are, or one by one where lists are not allowed.
type surveyor struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface

	// hierarchies and namespaces are nil where they may not be listed. All
	// hierarchies were read before all namespaces: a child that is not among the
	// namespaces does not exist any more.
	hierarchies map[string]*hncv1alpha2.HierarchyConfiguration
	namespaces  map[string]*metav1.PartialObjectMetadata
	// forbidden is why there are no namespaces.
	forbidden error
}

func (c *client) surveyor() (*surveyor, error) {
	meta, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	dyn, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	return &surveyor{metadata: meta, dynamic: dyn}, nil
}

// list reads all that may be listed.
func (s *surveyor) list(ctx context.Context) error {
	hierarchies, err := listTyped[hncv1alpha2.HierarchyConfiguration](ctx, s.dynamic.Resource(hierarchiesResource), metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
	case err != nil && !apierrors.IsNotFound(err): // where the kind is not served, there are none
		return fmt.Errorf("list hierarchy configurations: %w", err)
	default:
		s.hierarchies = make(map[string]*hncv1alpha2.HierarchyConfiguration, len(hierarchies))
		for i := range hierarchies {
			if h := &hierarchies[i]; h.Name == hncv1alpha2.HierarchyConfigurationName {
				s.hierarchies[h.Namespace] = h
			}
		}
	}
	namespaces, err := listMetadata(ctx, s.metadata.Resource(namespacesResource), metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		s.forbidden = err
	case err != nil:
		return fmt.Errorf("list namespaces: %w", err)
	default:
		s.namespaces = make(map[string]*metav1.PartialObjectMetadata, len(namespaces))
		for _, ns := range namespaces {
			s.namespaces[ns.Name] = ns
		}
	}
	return nil
}

// survey finds out about some namespaces and all that are below them.
func (s *surveyor) survey(ctx context.Context, names []string) forest {
	found := forest{}
	for len(names) > 0 {
		level := make([]*member, len(names))
		var group errgroup.Group
		group.SetLimit(parallelism)
		for i, name := range names {
			group.Go(func() error {
				level[i] = s.member(ctx, name)
				return nil
			})
		}
		_ = group.Wait() // a member knows its problem
		names = found.add(level)
	}
	return found
}

// add takes the members of one level in, and returns their children that are not
// known yet.
func (f forest) add(level []*member) (next []string) {
	for _, m := range level {
		f[m.name] = m
	}
	asked := map[string]bool{}
	for _, m := range level {
		for _, child := range m.children {
			if f[child] == nil && !asked[child] {
				asked[child] = true
				next = append(next, child)
			}
		}
	}
	return next
}

func (s *surveyor) member(ctx context.Context, name string) *member {
	m := &member{name: name}
	ns, err := s.namespace(ctx, name)
	if err != nil {
		m.gone, m.problem = apierrors.IsNotFound(err), namespaceProblem(name, err)
		return m
	}
	_, m.subnamespace = ns.Annotations[hncv1alpha2.AnnotationSubnamespaceOf]
	h, err := s.hierarchy(ctx, name)
	if err != nil {
		m.problem = hierarchyProblem(name, err)
		return m
	}
	m.parent, m.children, m.conditions = h.Spec.Parent, h.Status.Children, h.Status.Conditions
	return m
}

func (s *surveyor) namespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	if s.namespaces == nil {
		return s.metadata.Resource(namespacesResource).Get(ctx, name, metav1.GetOptions{})
	}
	if ns := s.namespaces[name]; ns != nil {
		return ns, nil
	}
	return nil, apierrors.NewNotFound(namespacesResource.GroupResource(), name)
}

// hierarchy is empty for a namespace that has none.
func (s *surveyor) hierarchy(ctx context.Context, namespace string) (*hncv1alpha2.HierarchyConfiguration, error) {
	if s.hierarchies == nil {
		o, err := hierarchyOf(s.dynamic, namespace).get(ctx)
		if err != nil {
			return nil, err
		}
		return decode[hncv1alpha2.HierarchyConfiguration](o)
	}
	if h := s.hierarchies[namespace]; h != nil {
		return h, nil
	}
	return &hncv1alpha2.HierarchyConfiguration{}, nil
}
