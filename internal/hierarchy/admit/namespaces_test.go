// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	included = "hnc.x-k8s.io/included-namespace"
	excluded = "hnc.x-k8s.io/excluded-namespace"
	marked   = "holdfast.dev/has-subnamespaces"
)

var namesMade atomic.Int64

// namespace makes one, by Holdfast, with some metadata. Where that says NAME, the name
// goes.
func (s *server) namespace(t testing.TB, metadata string) *unstructured.Unstructured {
	t.Helper()
	name := fmt.Sprintf("ns-%d", namesMade.Add(1))
	u := parse(t, strings.ReplaceAll("{apiVersion: v1, kind: Namespace, metadata: {name: NAME, "+metadata+"}}", "NAME", name))
	if err := s.as(t, "holdfast").Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// finalize writes a whole namespace through the subresource, as whoever ends
// namespaces does.
func finalize(t testing.TB, c client.Client, u *unstructured.Unstructured, patch map[string]string) error {
	t.Helper()
	changed := u.DeepCopy()
	l := changed.GetLabels()
	for k, v := range patch {
		if v == "" {
			delete(l, k)
		} else {
			l[k] = v
		}
	}
	changed.SetLabels(l)
	return c.SubResource("finalize").Update(t.Context(), changed)
}

// testNamespaceLabels holds every way to write to the labels of a namespace against
// the policy.
func testNamespaceLabels(t *testing.T, s *server) {
	const (
		own    = `NAME.tree.hnc.x-k8s.io/depth: "0"`
		tree   = "labels: {" + included + `: "true", ` + own + `, top.tree.hnc.x-k8s.io/depth: "2", mid.tree.hnc.x-k8s.io/depth: "1", app: x}`
		root   = "labels: {" + included + `: "true", ` + own + "}"
		wrong  = "labels: {" + included + `: "no", ` + excluded + `: "yes", ` + own + "}"
		stands = "403 labels that say where a namespace stands cannot be changed: "
	)
	external := metaPatch("annotations", "hnc.x-k8s.io/managed-by", `"somebody"`)
	tests := []struct{ name, before, user, key, value, want string }{
		{"another label", tree, "ann", "app", "y", "ok"},
		{"a tree label", root, "ann", "mid.tree.hnc.x-k8s.io/depth", "1", stands + "mid.tree.hnc.x-k8s.io/depth"},
		{"another value of a tree label", tree, "ann", "mid.tree.hnc.x-k8s.io/depth", "3", stands + "mid.tree.hnc.x-k8s.io/depth"},
		{"a tree label less", tree, "ann", "top.tree.hnc.x-k8s.io/depth", "", stands + "top.tree.hnc.x-k8s.io/depth"},
		{"a tree label less, by a controller", tree, "namespace-controller", "top.tree.hnc.x-k8s.io/depth", "", stands + "top.tree.hnc.x-k8s.io/depth"},
		{"a tree label less, by Holdfast", tree, "holdfast", "top.tree.hnc.x-k8s.io/depth", "", "ok"},
		{"not managed", root, "ann", included, "false", `must be "true"`},
		{"right again", wrong, "ann", included, "true", "ok"},
		{"excluded", root, "ann", excluded, "true", "is not in the list of those that are excluded, so it cannot have the label " + excluded},
		{"excluded, with another value", wrong, "ann", excluded, "true", "is not in the list of those that are excluded"},
		{"excluded no more", wrong, "ann", excluded, "", "ok"},
		{"another label, although excluded wrongly", wrong, "ann", "app", "y", "ok"},
		{"the mark", root, "ann", marked, "true", "403 the label " + marked + " is written by Holdfast alone"},
		{"the mark by Holdfast", root, "holdfast", marked, "true", "ok"},
	}
	for _, tt := range tests {
		for _, through := range []string{"", "status", "finalize"} {
			t.Run(strings.TrimSuffix(tt.name+" through "+through, " through "), func(t *testing.T) {
				t.Parallel()
				u := s.namespace(t, tt.before)
				value, want := `"`+tt.value+`"`, tt.want
				if tt.value == "" {
					value = "null"
				}
				if want != "ok" && !strings.HasPrefix(want, "403") {
					want = "403 " + want
				}
				c := s.as(t, tt.user)
				if through == "finalize" {
					said(t, tt.name, finalize(t, c, u, map[string]string{tt.key: tt.value}), want)
					return
				}
				said(t, tt.name, write(t, c, u, through, metaPatch("labels", tt.key, value)), want)
			})
		}
	}
	t.Run("the label that it is managed, taken away", func(t *testing.T) {
		t.Parallel()
		u := s.namespace(t, root)
		gone := metaPatch("labels", included, "null")
		said(t, "through the status", write(t, s.as(t, "ann"), u.DeepCopy(), "status", gone), `403 must be "true"`)
		said(t, "through finalize", finalize(t, s.as(t, "ann"), u, map[string]string{included: ""}), `403 must be "true"`)
		said(t, "plainly, when it is put back at once", write(t, s.as(t, "ann"), u, "", gone), "ok")
		if got := u.GetLabels()[included]; got != "true" {
			t.Errorf("it is %q", got)
		}
	})
	for _, tt := range []struct{ name, before, user, want string }{
		{"external with a parent", tree, "ann", `has the parent "mid", so it cannot be managed by somebody else`},
		{"external with an ancestor further up", "labels: {" + own + `, top.tree.hnc.x-k8s.io/depth: "2"}`, "ann", `has the parent "top"`},
		{"external as a subnamespace without labels yet", "annotations: {hnc.x-k8s.io/subnamespace-of: p}", "ann", `has the parent "p"`},
		{"external as a root", root, "ann", "ok"},
		{"external already", `annotations: {hnc.x-k8s.io/managed-by: other}, labels: {a.tree.hnc.x-k8s.io/depth: "1"}`, "ann", "ok"},
		{"external by Holdfast", tree, "holdfast", "ok"},
	} {
		for _, through := range []string{"", "status"} {
			t.Run(strings.TrimSuffix(tt.name+" through "+through, " through "), func(t *testing.T) {
				t.Parallel()
				want := tt.want
				if want != "ok" {
					want = "403 " + want
				}
				said(t, tt.name, write(t, s.as(t, tt.user), s.namespace(t, tt.before), through, external), want)
			})
		}
	}
}

// testNewNamespaces holds what a namespace may have from the start, and that it gets
// the label that it is managed.
func testNewNamespaces(t *testing.T, s *server) {
	for _, tt := range []struct{ name, namespace, user, want, label string }{
		{"a plain one", "{name: new-1}", "ann", "ok", "true"},
		{"one with labels", "{name: new-2, labels: {a: b}}", "ann", "ok", "true"},
		{"one with a name that is made up", "{generateName: new-}", "ann", "ok", ""},
		{"a managed one that says so", "{name: new-3, labels: {" + included + `: "true"}}`, "ann", "ok", "true"},
		{"a managed one that says no", "{name: new-4, labels: {" + included + `: "no"}}`, "ann", "ok", "true"},
		{"one with a tree label", "{name: new-5, labels: {new-5.tree.hnc.x-k8s.io/depth: '0'}}", "ann", "ok", "true"},
		{"one with a tree label by Holdfast", "{name: new-6, labels: {new-6.tree.hnc.x-k8s.io/depth: '0'}}", "holdfast", "ok", ""},
		{"one that says that it is excluded", "{name: new-7, labels: {" + excluded + `: "true"}}`, "ann", "ok", "true"},
		{"one with the mark", "{name: new-8, labels: {" + marked + `: "true"}}`, "ann", "ok", "true"},
		{"one with a generated name that says no", "{generateName: new-, labels: {" + included + `: "no"}}`, "ann", `403 is managed`, ""},
		{"an external one", "{name: new-9, annotations: {hnc.x-k8s.io/managed-by: other}}", "ann", "ok", "true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := parse(t, "{apiVersion: v1, kind: Namespace, metadata: "+tt.namespace+"}")
			said(t, tt.name, s.as(t, tt.user).Create(t.Context(), u, client.DryRunAll), tt.want)
			if got := u.GetLabels()[included]; tt.want == "ok" && got != tt.label {
				t.Errorf("the label is %q, want %q", got, tt.label)
			}
			for key := range u.GetLabels() {
				if tt.user == "ann" && (strings.Contains(key, "tree.hnc") || key == marked || key == excluded) {
					t.Errorf("it has the label %s", key)
				}
			}
		})
	}
	t.Run("an excluded one", func(t *testing.T) {
		t.Parallel()
		u := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: kube-public}}")
		c := s.as(t, "ann")
		said(t, "says so", write(t, c, u, "", metaPatch("labels", excluded, `"true"`)), "ok")
		said(t, "gets a label", write(t, c, u, "", metaPatch("labels", "a", `"b"`)), "ok")
		said(t, "says that it is managed", write(t, c, u, "", metaPatch("labels", included, `"true"`)), `403 "kube-public" is not managed`)
		said(t, "gets a tree label", write(t, c, u, "status", metaPatch("labels", "a.tree.hnc.x-k8s.io/depth", `"1"`)), "403 cannot be changed")
		if _, has := u.GetLabels()[included]; has {
			t.Error("it is labelled as managed")
		}
	})
	t.Run("an external name", func(t *testing.T) {
		t.Parallel()
		s.namespace(t, `annotations: {hnc.x-k8s.io/managed-by: other}, labels: {taken.tree.hnc.x-k8s.io/depth: "1"}`)
		u := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: taken}}")
		said(t, "the name of an external tree", s.as(t, "ann").Create(t.Context(), u, client.DryRunAll), `409 "taken" stands in the tree of the external namespace`)
	})
}
