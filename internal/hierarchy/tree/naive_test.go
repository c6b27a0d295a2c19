// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// world is a second implementation of what follows, slow and plain: it keeps what
// came in and works out everything from scratch each time it is asked.
type world struct {
	objects  map[string]*tree.Object
	configs  map[string]*hncv1alpha2.HierarchyConfigurationSpec
	anchors  map[[2]string]*hncv1alpha2.SubnamespaceAnchorSpec // by namespace and name
	settings tree.Settings
}

func newWorld() *world {
	return &world{
		objects: map[string]*tree.Object{}, configs: map[string]*hncv1alpha2.HierarchyConfigurationSpec{},
		anchors: map[[2]string]*hncv1alpha2.SubnamespaceAnchorSpec{},
	}
}

func put[K comparable, V any](m map[K]*V, k K, v *V) {
	delete(m, k)
	if v != nil {
		m[k] = v
	}
}

func (w *world) outcomes() map[string]*tree.Outcome {
	out := map[string]*tree.Outcome{}
	for name := range w.objects {
		out[name] = w.outcome(name)
	}
	return out
}

func (w *world) managed(name string) bool {
	return w.settings.Managed == nil || w.settings.Managed(name)
}

func (w *world) external(name string) bool {
	by := w.objects[name].Annotations["hnc.x-k8s.io/managed-by"]
	return by != "" && by != "hnc.x-k8s.io"
}

func (w *world) sub(name string) string {
	if o := w.objects[name]; !o.Terminating && !w.external(name) {
		return o.Annotations["hnc.x-k8s.io/subnamespace-of"]
	}
	return ""
}

// spec is the configuration as it should be.
func (w *world) spec(name string) (s hncv1alpha2.HierarchyConfigurationSpec) {
	if c := w.configs[name]; c != nil {
		s = *c
	}
	if p := w.sub(name); p != "" {
		s.Parent = p
		if a := w.anchors[[2]string{p, name}]; a != nil && w.managed(p) {
			s.Labels, s.Annotations = a.Labels, a.Annotations
		}
	}
	return s
}

func (w *world) parent(name string) string {
	if w.objects[name] == nil || !w.managed(name) || w.external(name) {
		return ""
	}
	return w.spec(name).Parent
}

func (w *world) cycle(name string) []string {
	members := []string{name}
	for p := w.parent(name); p != "" && len(members) <= len(w.objects); p = w.parent(p) {
		if p == name {
			slices.Reverse(members)
			for members[0] != slices.Min(members) {
				members = append(members[1:], members[0])
			}
			return append(members, members[0])
		}
		members = append(members, p)
	}
	return nil
}

func (w *world) broken(name string) bool {
	p := w.parent(name)
	return p != "" && (!w.managed(p) || w.objects[p] == nil || w.cycle(name) != nil)
}

// chain is the namespace and all above, up to a broken one.
func (w *world) chain(name string) []string {
	if w.broken(name) || w.parent(name) == "" {
		return []string{name}
	}
	return append([]string{name}, w.chain(w.parent(name))...)
}

func (w *world) outcome(name string) *tree.Outcome {
	o := w.objects[name]
	out := &tree.Outcome{Terminating: o.Terminating, Labels: maps.Clone(o.Labels), Annotations: maps.Clone(o.Annotations), Anchors: w.states(name)}
	treeLabel := func(k, _ string) bool { return strings.HasSuffix(k, ".tree.hnc.x-k8s.io/depth") }
	if !w.managed(name) {
		delete(out.Labels, "hnc.x-k8s.io/included-namespace")
		if !w.external(name) {
			maps.DeleteFunc(out.Labels, treeLabel)
		}
		return out
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	delete(out.Labels, "hnc.x-k8s.io/excluded-namespace")
	out.Labels["hnc.x-k8s.io/included-namespace"] = "true"
	out.Managed, out.External, out.Subnamespace = true, w.external(name), w.sub(name) != ""
	out.Parent, out.Spec = w.parent(name), w.spec(name)
	chain := w.chain(name)
	if last := chain[len(chain)-1]; w.broken(last) {
		out.HaltedBy = last
	}
	for other := range w.objects {
		if w.parent(other) == name {
			out.Children = append(out.Children, other)
		}
	}
	slices.Sort(out.Children)
	for _, above := range chain {
		out.AllowCascadingDeletion = out.AllowCascadingDeletion || w.spec(above).AllowCascadingDeletion
	}
	if w.external(name) {
		out.Labels[name+".tree.hnc.x-k8s.io/depth"] = "0"
	} else {
		maps.DeleteFunc(out.Labels, treeLabel)
		maps.DeleteFunc(out.Labels, func(k, _ string) bool { return w.settings.ManagedLabel.Has(k) })
		maps.DeleteFunc(out.Annotations, func(k, _ string) bool { return w.settings.ManagedAnnotation.Has(k) })
		w.inherit(out, chain)
	}
	if labels, record, follows := w.podSecurity(name); follows {
		maps.DeleteFunc(out.Labels, func(k, _ string) bool { return strings.HasPrefix(k, "pod-security.kubernetes.io/") })
		maps.Copy(out.Labels, labels)
		out.Annotations["holdfast.dev/inherited-pod-security"] = record
	}
	out.Conditions = w.conditions(name, out)
	return out
}

// podSecurity knows two labels.
func (w *world) podSecurity(name string) (labels map[string]string, record string, follows bool) {
	o, labels := w.objects[name], map[string]string{}
	var above map[string]string
	text, recorded := o.Annotations["holdfast.dev/inherited-pod-security"]
	if chain := w.chain(name); len(chain) > 1 && recorded && w.sub(name) != "" {
		above, _, _ = w.podSecurity(chain[1])
		follows = true
	}
	var out []string
	for _, short := range []string{"enforce", "warn"} {
		key := "pod-security.kubernetes.io/" + short
		value, has := o.Labels[key]
		ours := !has
		for pair := range strings.SplitSeq(text, ",") {
			ours = ours || pair == short+"="+value
		}
		switch inherits, ok := above[key]; {
		case has && !(follows && ours):
			labels[key] = value
			for pair := range strings.SplitSeq(text, ",") {
				if strings.HasPrefix(pair, short+"=") {
					out = append(out, pair)
				}
			}
		case ok:
			labels[key] = inherits
			out = append(out, short+"="+inherits)
		}
	}
	return labels, strings.Join(out, ","), follows
}

func (w *world) inherit(out *tree.Outcome, chain []string) {
	for depth, above := range chain {
		out.Labels[above+".tree.hnc.x-k8s.io/depth"] = strconv.Itoa(depth)
		for _, kv := range w.spec(above).Labels {
			if w.settings.ManagedLabel.Has(kv.Key) {
				out.Labels[kv.Key] = kv.Value
			}
		}
		for _, kv := range w.spec(above).Annotations {
			if w.settings.ManagedAnnotation.Has(kv.Key) {
				out.Annotations[kv.Key] = kv.Value
			}
		}
		if !w.external(above) {
			continue
		}
		for k, v := range w.objects[above].Labels {
			if w.settings.ManagedLabel.Has(k) {
				out.Labels[k] = v
			}
			further, is := strings.CutSuffix(k, ".tree.hnc.x-k8s.io/depth")
			if n, err := strconv.Atoi(v); is && err == nil && n >= 0 && !slices.Contains(chain, further) {
				out.Labels[k] = strconv.Itoa(depth + n)
			}
		}
		for k, v := range w.objects[above].Annotations {
			if w.settings.ManagedAnnotation.Has(k) {
				out.Annotations[k] = v
			}
		}
	}
}

func (w *world) states(name string) map[string]hncv1alpha2.AnchorState {
	out := map[string]hncv1alpha2.AnchorState{}
	for at := range w.anchors {
		if at[0] != name {
			continue
		}
		out[at[1]] = hncv1alpha2.AnchorConflict
		o := w.objects[at[1]]
		if o == nil {
			out[at[1]] = hncv1alpha2.AnchorMissing
		} else if o.Annotations["hnc.x-k8s.io/subnamespace-of"] == name {
			out[at[1]] = hncv1alpha2.AnchorOk
		}
		if !w.managed(name) || !w.managed(at[1]) {
			out[at[1]] = hncv1alpha2.AnchorForbidden
		}
	}
	return out
}

func (w *world) conditions(name string, o *tree.Outcome) (out []tree.Condition) {
	add := func(yes bool, kind, reason, text string) {
		if yes {
			out = append(out, tree.Condition{Type: kind, Reason: reason, Message: text})
		}
	}
	p := w.parent(name)
	cycle := w.cycle(name)
	add(o.HaltedBy != "" && o.HaltedBy != name, "ActivitiesHalted", "AncestorHaltActivities",
		fmt.Sprintf("nothing is propagated here while the ancestor %q is halted", o.HaltedBy))
	add(w.settings.DeletingCRD, "ActivitiesHalted", "DeletingCRD", "the CRD of HierarchyConfigurations is being deleted, so nothing is propagated any more")
	add(p != "" && !w.managed(p), "ActivitiesHalted", "IllegalParent", fmt.Sprintf("the parent %q is not managed", p))
	add(cycle != nil, "ActivitiesHalted", "InCycle", "the namespace is its own ancestor: "+strings.Join(cycle, " <- "))
	add(p != "" && w.managed(p) && w.objects[p] == nil, "ActivitiesHalted", "ParentMissing", fmt.Sprintf("the parent %q does not exist", p))
	annotations, labels := bad(o.Spec.Annotations, w.settings.ManagedAnnotation), bad(o.Spec.Labels, w.settings.ManagedLabel)
	add(annotations != "", "BadConfiguration", "IllegalManagedAnnotation", "the configuration does not let these annotations be managed: "+annotations)
	add(labels != "", "BadConfiguration", "IllegalManagedLabel", "the configuration does not let these labels be managed: "+labels)
	sub := w.sub(name)
	add(sub != "" && (w.anchors[[2]string{sub, name}] == nil || !w.managed(sub)), "BadConfiguration", "SubnamespaceAnchorMissing",
		fmt.Sprintf("there is no anchor %q in the parent %q", name, sub))
	return out
}

func bad(pairs []hncv1alpha2.MetaKVP, keys tree.Keys) string {
	set := map[string]bool{}
	for _, kv := range pairs {
		if !keys.Has(kv.Key) {
			set[kv.Key] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
