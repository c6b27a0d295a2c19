// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Anchor decides on an anchor in a namespace. What it says of labels does not
// count on a delete: an anchor can always be taken away, whatever the
// configuration lets be managed by then.
func (w World) Anchor(op Operation, namespace, name string, spec hncv1alpha2.SubnamespaceAnchorSpec) Verdict {
	if op == Delete {
		return w.anchorDelete(namespace, name)
	}
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return invalid("%q is no name of a namespace: %s", name, strings.Join(problems, "; "))
	}
	if v := w.pairs(spec.Labels, spec.Annotations); v.Denied != nil {
		return v
	}
	if op == Update {
		return w.anchorUpdate(namespace, name, spec)
	}
	return w.anchorCreate(namespace, name, spec)
}

func (w World) anchorCreate(namespace, name string, spec hncv1alpha2.SubnamespaceAnchorSpec) Verdict {
	sub := w.Tree.Get(name)
	switch {
	case !w.managed(namespace):
		return forbidden("the namespace %q is not managed, so it cannot have subnamespaces", namespace)
	case !w.managed(name):
		return forbidden("the name %q is of a namespace that is not managed, so it cannot be a subnamespace", name)
	case sub == nil && w.reserved(name):
		return forbidden("the name %q is reserved, so it cannot be a subnamespace: a namespace of this name may be trusted by an add-on or by Kubernetes. "+
			"An administrator can change hierarchy.reservedNamespaces in Holdfast's configuration", name)
	case sub != nil && !(sub.Subnamespace && sub.Parent == namespace):
		return conflict("there is a namespace %q already", name)
	case sub == nil:
		return w.adopts(namespace, name, spec)
	}
	return w.anchorUpdate(namespace, name, spec)
}

// adopts decides on an anchor whose namespace does not exist. Orphans that name it as their parent are in its tree as soon as
// it does, so that the user must have the right to change theirs.
func (w World) adopts(namespace, name string, spec hncv1alpha2.SubnamespaceAnchorSpec) Verdict {
	orphans := w.Tree.Orphans(name)
	if len(orphans) == 0 {
		return allowed
	}
	created := &tree.Object{Annotations: map[string]string{hncv1alpha2.AnnotationSubnamespaceOf: namespace}}
	v := w.displaces(name, tree.SetAnchor(namespace, name, &spec), tree.SetNamespace(name, created))
	if v.Denied == nil {
		v.Authorize = orphans
	}
	return v
}

// anchorUpdate looks at the labels that a subnamespace has by its anchor.
func (w World) anchorUpdate(namespace, name string, spec hncv1alpha2.SubnamespaceAnchorSpec) Verdict {
	sub := w.Tree.Get(name)
	if sub == nil || !sub.Subnamespace || sub.Parent != namespace || slices.Equal(spec.Labels, sub.Spec.Labels) {
		return allowed
	}
	return w.displaces(name, tree.SetAnchor(namespace, name, &spec))
}

func (w World) anchorDelete(namespace, name string) Verdict {
	in, sub := w.Tree.Get(namespace), w.Tree.Get(name)
	if in == nil || sub == nil || in.Anchors[name] != hncv1alpha2.AnchorOk || sub.Terminating {
		return allowed
	}
	if len(sub.Children) == 0 || sub.AllowCascadingDeletion {
		return Verdict{Deletes: append([]string{name}, w.cascade(name)...)}
	}
	return forbidden(textAnchorBelow, name, strings.Join(sub.Children, ", "))
}

// DeletesSubnamespace says whether an anchor that is being deleted takes its
// subnamespace with it. While the CRD of the anchors is on its way out none does,
// which is for the caller to know.
func (w World) DeletesSubnamespace(namespace, name string) bool {
	in, sub := w.Tree.Get(namespace), w.Tree.Get(name)
	return in != nil && sub != nil && in.Anchors[name] == hncv1alpha2.AnchorOk && !sub.Terminating &&
		(len(sub.Children) == 0 || sub.AllowCascadingDeletion)
}
