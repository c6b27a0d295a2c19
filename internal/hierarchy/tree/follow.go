// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// outcome works out what follows for a namespace.
func (d *draft) outcome(name string, n *node, l *line) *Outcome {
	if n.object == nil {
		return nil
	}
	o := &Outcome{Terminating: n.object.Terminating, Anchors: d.anchorStates(name, n)}
	if l == nil {
		o.Labels = without(n.object.Labels, func(k string) bool {
			return k == hncv1alpha2.LabelIncludedNamespace || strings.HasSuffix(k, hncv1alpha2.LabelTreeDepthSuffix) && !n.external()
		})
		o.Annotations = n.object.Annotations
		return o
	}
	o.Managed, o.External = true, n.external()
	o.Parent, o.Subnamespace = n.parent(), n.subnamespaceOf() != ""
	o.HaltedBy, o.AllowCascadingDeletion = l.haltedBy, l.cascading
	o.Spec = d.spec(name, n)
	o.Children = n.children
	o.Labels, o.Annotations = d.labels(n, l), d.annotations(n, l)
	if s := n.podSecurity(l.up); s.follows {
		maps.DeleteFunc(o.Labels, func(k, _ string) bool { return strings.HasPrefix(k, PodSecurityPrefix) })
		maps.Copy(o.Labels, s.labels)
		o.Annotations[v1alpha1.InheritedPodSecurityAnnotation] = s.record
	}
	o.Conditions = d.conditions(name, l, o)
	return o
}

func (d *draft) anchorStates(name string, n *node) map[string]hncv1alpha2.AnchorState {
	if len(n.anchors) == 0 {
		return nil
	}
	out := make(map[string]hncv1alpha2.AnchorState, len(n.anchors))
	for _, a := range n.anchors {
		out[a.name] = d.anchorState(name, a.name)
	}
	return out
}

// anchorState looks at the annotation even while the subnamespace is being
// deleted: until it is gone it belongs to its anchor.
func (d *draft) anchorState(namespace, name string) hncv1alpha2.AnchorState {
	switch sub := d.get(name).object; {
	case !d.settings.managed(namespace) || !d.settings.managed(name):
		return hncv1alpha2.AnchorForbidden
	case sub == nil && d.settings.reserved(name):
		return hncv1alpha2.AnchorForbidden
	case sub == nil:
		return hncv1alpha2.AnchorMissing
	case sub.Annotations[hncv1alpha2.AnnotationSubnamespaceOf] == namespace:
		return hncv1alpha2.AnchorOk
	default:
		return hncv1alpha2.AnchorConflict
	}
}

// labels are all those that a managed namespace should have.
func (d *draft) labels(n *node, l *line) map[string]string {
	out := without(n.object.Labels, func(k string) bool {
		return k == hncv1alpha2.LabelExcludedNamespace ||
			!n.external() && (strings.HasSuffix(k, hncv1alpha2.LabelTreeDepthSuffix) || d.settings.ManagedLabel.Has(k))
	})
	if out == nil {
		out = map[string]string{}
	}
	out[hncv1alpha2.LabelIncludedNamespace] = hncv1alpha2.ValueTrue
	if n.external() {
		out[l.name+hncv1alpha2.LabelTreeDepthSuffix] = "0"
		return out
	}
	depth := 0
	for ; l != nil; l = l.up {
		out[l.name+hncv1alpha2.LabelTreeDepthSuffix] = strconv.Itoa(depth)
		maps.Copy(out, l.labels) // whoever is further up wins
		for above, more := range l.trusted {
			key := above + hncv1alpha2.LabelTreeDepthSuffix
			if _, known := out[key]; !known {
				out[key] = strconv.Itoa(depth + more)
			}
		}
		depth++
	}
	return out
}

// annotations are those of the object that a managed namespace should have.
func (d *draft) annotations(n *node, l *line) map[string]string {
	if n.external() {
		return n.object.Annotations
	}
	out := without(n.object.Annotations, d.settings.ManagedAnnotation.Has)
	for ; l != nil; l = l.up {
		if out == nil && len(l.annotations) > 0 {
			out = map[string]string{}
		}
		maps.Copy(out, l.annotations)
	}
	return out
}

// without copies a map but for some keys.
func without(m map[string]string, drop func(key string) bool) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m)+4)
	for k, v := range m {
		if !drop(k) {
			out[k] = v
		}
	}
	return out
}

// conditions say what is wrong with a managed namespace.
func (d *draft) conditions(name string, l *line, o *Outcome) []Condition {
	var out []Condition
	halted := func(reason, format string, args ...any) {
		out = append(out, Condition{hncv1alpha2.ConditionActivitiesHalted, reason, fmt.Sprintf(format, args...)})
	}
	bad := func(reason, format string, args ...any) {
		out = append(out, Condition{hncv1alpha2.ConditionBadConfiguration, reason, fmt.Sprintf(format, args...)})
	}
	switch {
	case l.cycle != "":
		halted(hncv1alpha2.ReasonInCycle, "the namespace is its own ancestor: %s", l.cycle)
	case o.Parent != "" && !d.settings.managed(o.Parent):
		halted(hncv1alpha2.ReasonIllegalParent, "the parent %q is not managed", o.Parent)
	case o.Parent != "" && d.get(o.Parent).object == nil:
		halted(hncv1alpha2.ReasonParentMissing, "the parent %q does not exist", o.Parent)
	case l.haltedBy != "":
		halted(hncv1alpha2.ReasonAncestorHalted, "nothing is propagated here while the ancestor %q is halted", l.haltedBy)
	}
	if d.settings.DeletingCRD {
		halted(hncv1alpha2.ReasonDeletingCRD, "the CRD of HierarchyConfigurations is being deleted, so nothing is propagated any more")
	}
	if o.Subnamespace && d.anchor(o.Parent, name) == nil {
		bad(hncv1alpha2.ReasonAnchorMissing, "there is no anchor %q in the parent %q", name, o.Parent)
	}
	if keys := illegal(o.Spec.Labels, d.settings.ManagedLabel); keys != "" {
		bad(hncv1alpha2.ReasonIllegalManagedLabel, "the configuration does not let these labels be managed: %s", keys)
	}
	if keys := illegal(o.Spec.Annotations, d.settings.ManagedAnnotation); keys != "" {
		bad(hncv1alpha2.ReasonIllegalManagedAnnotation, "the configuration does not let these annotations be managed: %s", keys)
	}
	slices.SortFunc(out, Condition.compare)
	return out
}

func illegal(pairs []hncv1alpha2.MetaKVP, keys Keys) string {
	var out []string
	for _, p := range pairs {
		if !keys.Has(p.Key) {
			out = append(out, p.Key)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}
