// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func namespace(name string, above ...string) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{name + ".tree.hnc.x-k8s.io/depth": "0"}}}
	for _, a := range above {
		o.Labels[a+".tree.hnc.x-k8s.io/depth"] = "1"
	}
	return o
}

func TestInTrees(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		namespaces []metav1.PartialObjectMetadata
		want       int
	}{
		{"nobody has a parent", []metav1.PartialObjectMetadata{namespace("a"), namespace("b")}, 0},
		{"two children of one", []metav1.PartialObjectMetadata{namespace("a"), namespace("b", "a"), namespace("c", "a"), namespace("d")}, 3},
		{"a chain", []metav1.PartialObjectMetadata{namespace("a"), namespace("b", "a"), namespace("c", "b", "a")}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := inTrees(tt.namespaces); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	then := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	object := func(name, version, manager string, when time.Time) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, ResourceVersion: version,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager, Time: new(metav1.NewTime(when))}},
		}}
	}
	was := &baseline{Time: metav1.NewTime(then), Lists: []baselineList{
		{"namespaces", "100", 0}, {"hierarchyconfigurations.hnc.x-k8s.io", "100", 2}, {"subnamespaceanchors.hnc.x-k8s.io", "100", 0}, {"hncconfigurations.hnc.x-k8s.io", "100", 0},
	}}
	tests := []struct {
		name    string
		objects []metav1.PartialObjectMetadata
		want    string
	}{
		{
			"nobody wrote anything, lately", []metav1.PartialObjectMetadata{object("x", "99", writer, then.Add(-time.Hour)), object("y", "100", "manager", then)},
			"Holdfast has written none of the objects",
		},
		{
			"Holdfast wrote one, in the same second", []metav1.PartialObjectMetadata{object("x", "1001", writer, then.Truncate(time.Second)), object("y", "9", "manager", then)},
			"Holdfast has written 1 of 2 hierarchyconfigurations.hnc.x-k8s.io (a/x). There are",
		},
		{
			"somebody wrote one that Holdfast wrote long ago", []metav1.PartialObjectMetadata{object("x", "101", writer, then.Add(-time.Hour)), object("y", "9", "manager", then)},
			"Others have written 1 hierarchyconfigurations.hnc.x-k8s.io",
		},
		{"one went", []metav1.PartialObjectMetadata{object("x", "99", "manager", then)}, "There are fewer of 1 hierarchyconfigurations.hnc.x-k8s.io"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := lists{
				namespaces: listed{resource: "namespaces"}, anchors: listed{resource: "subnamespaceanchors.hnc.x-k8s.io"},
				configurations: listed{resource: "hncconfigurations.hnc.x-k8s.io"},
				hierarchies:    listed{resource: "hierarchyconfigurations.hnc.x-k8s.io", objects: tt.objects},
				copies:         []listed{{resource: "copies of what was not copied then"}},
			}
			if got := l.since(was).String(); !strings.Contains(got, tt.want) {
				t.Errorf("%q is not in %q", tt.want, got)
			}
		})
	}
}

func TestBaseline_isThatOfTheLists(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := lists{namespaces: listed{resource: "namespaces", version: "7", objects: []metav1.PartialObjectMetadata{namespace("a")}}}
	want := baselineList{"namespaces", "7", 1}
	if diff := cmp.Diff(want, l.baseline(now).Lists[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !l.since(l.baseline(now)).same() {
		t.Error("nothing has happened")
	}
}
