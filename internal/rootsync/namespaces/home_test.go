// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestHome(t *testing.T) {
	t.Parallel()
	const depth = ".tree.hnc.x-k8s.io/depth"
	tests := []struct {
		name                string
		labels, annotations map[string]string
		want                string // in the error; empty for none
	}{
		{"in no tree", nil, nil, ""},
		{"a root", map[string]string{object.SyncNamespace + depth: "0", "a": "b"}, nil, ""},
		{"a subnamespace whose labels have not come yet", nil, map[string]string{"hnc.x-k8s.io/subnamespace-of": "shop"}, "delete the SubnamespaceAnchor config-management-system in shop"},
		{"below another", map[string]string{object.SyncNamespace + depth: "0", "shop" + depth: "1", "acme" + depth: "2"}, nil, "below acme in a tree"},
		{"below one that has excluded itself", map[string]string{"shop" + depth: "0"}, nil, "kubectl hns set config-management-system --root"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Home(&metav1.ObjectMeta{Name: object.SyncNamespace, Labels: tt.labels, Annotations: tt.annotations})
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	const depth = ".tree.hnc.x-k8s.io/depth"
	o := &metav1.ObjectMeta{Name: "child", Labels: map[string]string{"child" + depth: "0", "shop" + depth: "1", "team": "shop"}}
	for above, want := range map[string]bool{"": true, "shop": true, "child": false, "other": false} {
		if got := Below(o, above); got != want {
			t.Errorf("below %q: %t, want %t", above, got, want)
		}
	}
	if root := (&metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"shop" + depth: "0"}}); Below(root, "") {
		t.Error("a root is below another")
	}
}
