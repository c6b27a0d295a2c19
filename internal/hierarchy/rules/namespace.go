// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// Meta is what counts of a namespace in a request.
type Meta struct {
	Labels, Annotations map[string]string
}

func (m Meta) external() bool {
	by := m.Annotations[hncv1alpha2.AnnotationManagedBy]
	return by != "" && by != hncv1alpha2.GroupName
}

// IncludedLabel says whether a namespace in the making gets the label that says
// that it is managed.
func (w World) IncludedLabel(name string, m Meta) bool {
	_, has := m.Labels[hncv1alpha2.LabelIncludedNamespace]
	return !has && w.managed(name)
}

// Namespace decides on a namespace. For a create the old one, for a delete the
// new one is empty.
func (w World) Namespace(op Operation, name string, before, after Meta) Verdict {
	if op == Delete {
		return w.namespaceDelete(name, before)
	}
	if v := w.marks(name, before, after); v.Denied != nil {
		return v
	}
	if op == Create {
		if by := w.externalWith(name); by != "" {
			return conflict("%q stands in the tree of the external namespace %q already", name, by)
		}
	} else if o := w.Tree.Get(name); o != nil && o.Parent != "" && after.external() && !before.external() {
		return forbidden(TextExternal, name, o.Parent)
	}
	return treeLabels(before, after)
}

// marks looks at the labels that say whether a namespace is managed. What is wrong
// already may stay wrong: it is Holdfast that puts it right.
func (w World) marks(name string, before, after Meta) Verdict {
	if is, has, changed := change(before, after, hncv1alpha2.LabelIncludedNamespace); changed {
		switch {
		case has && !w.managed(name):
			return forbidden(TextNotIncluded, name, hncv1alpha2.LabelIncludedNamespace)
		case is != hncv1alpha2.ValueTrue && w.managed(name):
			return forbidden(TextIncluded, name, hncv1alpha2.LabelIncludedNamespace)
		}
	}
	_, has, changed := change(before, after, hncv1alpha2.LabelExcludedNamespace)
	if listed := w.Excluded != nil && w.Excluded(name); has && changed && !listed {
		return forbidden(TextNotExcluded,
			name, hncv1alpha2.LabelExcludedNamespace)
	}
	return allowed
}

// change is the value of a label afterwards, and whether it differs.
func change(before, after Meta, label string) (is string, has, changed bool) {
	is, has = after.Labels[label]
	was, had := before.Labels[label]
	return is, has, has != had || is != was
}

// treeLabels looks at the labels that say where a namespace stands: they are not
// for people to write.
func treeLabels(before, after Meta) Verdict {
	var wrong []string
	differ := func(a, b map[string]string) {
		for key, value := range a {
			if other, has := b[key]; strings.Contains(key, hncv1alpha2.LabelTreeDepthSuffix) && (!has || other != value) {
				wrong = append(wrong, key)
			}
		}
	}
	differ(before.Labels, after.Labels)
	differ(after.Labels, before.Labels)
	if len(wrong) == 0 {
		return allowed
	}
	slices.Sort(wrong)
	return forbidden(TextTreeLabels, strings.Join(slices.Compact(wrong), ", "))
}

// externalWith is an external namespace that has a tree label with the name.
func (w World) externalWith(name string) string {
	for other, o := range w.Tree.All() {
		if _, has := o.Labels[name+hncv1alpha2.LabelTreeDepthSuffix]; o.External && has && other != name {
			return other
		}
	}
	return ""
}

func (w World) namespaceDelete(name string, before Meta) Verdict {
	if p := before.Annotations[hncv1alpha2.AnnotationSubnamespaceOf]; p != "" && w.Tree.HasAnchor(p, name) {
		return forbidden(textByItsAnchor, name, p)
	}
	o := w.Tree.Get(name)
	if o == nil {
		return allowed
	}
	if o.AllowCascadingDeletion {
		return Verdict{Deletes: w.cascade(name)}
	}
	var subs []string
	for _, c := range o.Children {
		if w.Tree.Get(c).Subnamespace {
			subs = append(subs, c)
		}
	}
	if len(subs) == 0 {
		return allowed
	}
	return forbidden(textHasBelow, name, strings.Join(subs, ", "))
}
