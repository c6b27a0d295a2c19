// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"maps"
	"strconv"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// line is what a namespace hands down to its children: itself and all above. It
// never changes; as long as nothing in it does, it is the same pointer.
type line struct {
	name string
	// up is the line of the parent, nil for a root and for a broken namespace.
	up *line
	// cycle is how people read the cycle that the namespace is in.
	cycle string
	// haltedBy is the nearest broken namespace.
	haltedBy string
	// cascading says that this namespace or one above allows cascading deletion.
	cascading bool
	// labels and annotations that this namespace sets for itself and those below.
	labels, annotations map[string]string
	// podSecurity are the PodSecurity labels that this namespace should have.
	podSecurity map[string]string
	// trusted are the depths in the tree labels of an external namespace, by name.
	trusted map[string]int
}

func (l *line) equal(m *line) bool {
	return m != nil && l.name == m.name && l.up == m.up && l.cycle == m.cycle && l.haltedBy == m.haltedBy && l.cascading == m.cascading &&
		maps.Equal(l.labels, m.labels) && maps.Equal(l.annotations, m.annotations) && maps.Equal(l.podSecurity, m.podSecurity) && maps.Equal(l.trusted, m.trusted)
}

// line is what a namespace hands down, nil if it cannot be a parent. It is the
// same pointer as before if it is the same.
func (d *draft) line(name string, n *node) *line {
	if n.object == nil || !d.settings.managed(name) {
		return nil
	}
	spec := d.spec(name, n)
	l := &line{
		name: name, cycle: d.cycles[name], cascading: spec.AllowCascadingDeletion,
		labels:      allowed(spec.Labels, d.settings.ManagedLabel),
		annotations: allowed(spec.Annotations, d.settings.ManagedAnnotation),
	}
	if n.external() {
		l.trusted = trusted(name, n.object.Labels)
		l.labels = plus(l.labels, n.object.Labels, d.settings.ManagedLabel)
		l.annotations = plus(l.annotations, n.object.Annotations, d.settings.ManagedAnnotation)
	}
	switch up := d.up(name); {
	case l.cycle != "" || up == "" && d.parent(name) != "":
		l.haltedBy = name
	case up != "":
		l.up = d.get(up).line
		l.haltedBy = l.up.haltedBy
		l.cascading = l.cascading || l.up.cascading
	}
	l.podSecurity = n.podSecurity(l.up).labels
	if l.equal(n.line) {
		return n.line
	}
	return l
}

// spec is what the HierarchyConfiguration of a namespace should say.
func (d *draft) spec(name string, n *node) config {
	var s config
	if n.config != nil {
		s = *n.config
	}
	p := n.subnamespaceOf()
	if p == "" {
		return s
	}
	s.Parent = p
	if a := d.anchor(p, name); a != nil {
		s.Labels, s.Annotations = a.Labels, a.Annotations
	}
	return s
}

// anchor of a subnamespace, in its parent. One in a namespace that is not managed
// does not count.
func (d *draft) anchor(namespace, name string) *anchorSpec {
	anchors := d.get(namespace).anchors
	if i, found := findAnchor(anchors, name); found && d.settings.managed(namespace) {
		return anchors[i].spec
	}
	return nil
}

func allowed(pairs []hncv1alpha2.MetaKVP, keys Keys) map[string]string {
	var out map[string]string
	for _, p := range pairs {
		if keys.Has(p.Key) {
			if out == nil {
				out = map[string]string{}
			}
			out[p.Key] = p.Value
		}
	}
	return out
}

// plus adds the managed ones of the labels or annotations of an external namespace.
func plus(out, of map[string]string, keys Keys) map[string]string {
	out = maps.Clone(out)
	for k, v := range of {
		if keys.Has(k) {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// trusted reads the tree labels of an external namespace. What is no depth does
// not count.
func trusted(name string, labels map[string]string) map[string]int {
	out := map[string]int{}
	for key, value := range labels {
		above, isTree := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix)
		if depth, err := strconv.Atoi(value); isTree && err == nil && depth >= 0 {
			out[above] = depth
		}
	}
	out[name] = 0
	return out
}
