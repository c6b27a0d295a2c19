// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

type (
	config     = hncv1alpha2.HierarchyConfigurationSpec
	anchorSpec = hncv1alpha2.SubnamespaceAnchorSpec
)

// Object is what counts of a namespace itself. Whoever hands one over does not
// change it any more.
type Object struct {
	Labels map[string]string
	// Annotations are those of HNC, those that the Settings let be managed, and
	// v1alpha1.InheritedPodSecurityAnnotation; the others may be left out, and then
	// stay out of what follows.
	Annotations map[string]string
	// Terminating says that the namespace is being deleted.
	Terminating bool
}

// external says whether the labels of the namespace are somebody else's.
func (o *Object) external() bool {
	by := o.Annotations[hncv1alpha2.AnnotationManagedBy]
	return by != "" && by != hncv1alpha2.GroupName
}

// node is what is known under one name. It never changes once it is in a Tree.
type node struct {
	// What came in.
	object  *Object
	config  *config
	anchors []anchor

	// What points here.
	children   []string // namespaces that say that this is their parent
	anchoredIn []string // namespaces with an anchor of this name

	// What follows.
	line    *line
	outcome *Outcome
}

// empty says whether nothing is known, so that the name can be forgotten.
func (n *node) empty() bool {
	return n.object == nil && n.config == nil && len(n.anchors) == 0 && len(n.children) == 0 && len(n.anchoredIn) == 0
}

// external says whether the namespace is, and is there.
func (n *node) external() bool { return n.object != nil && n.object.external() }

// subnamespaceOf is the parent that the annotation names. While a namespace is
// being deleted it does not count: otherwise the copies in it would have to stay,
// and keep it from ending.
func (n *node) subnamespaceOf() string {
	if n.object == nil || n.object.Terminating || n.object.external() {
		return ""
	}
	return n.object.Annotations[hncv1alpha2.AnnotationSubnamespaceOf]
}

// parent is what the namespace says its parent is.
func (n *node) parent() string {
	if n.object == nil || n.object.external() {
		return ""
	}
	if p := n.subnamespaceOf(); p != "" {
		return p
	}
	if n.config == nil {
		return ""
	}
	return n.config.Parent
}
