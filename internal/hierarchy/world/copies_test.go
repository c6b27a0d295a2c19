// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
)

func TestCopy_isExplained(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		story []string
		want  bool
	}{
		{"somebody deletes the source", []string{"delete a/x"}, true},
		{"the source is missing from a list", []string{"miss a/x"}, false},
		{"the subtree leaves", []string{"parent b="}, false},
		{"the source is deleted after the subtree has left", []string{"parent b=", "delete a/x"}, true},
		{"the source is made again, and the subtree leaves", []string{"delete a/x\nrole a/x", "parent b="}, false},
		{"the same in two steps", []string{"delete a/x", "role a/x", "parent b="}, false},
		{"the source says that there is to be none", []string{"role a/x none=true"}, true},
		{"it says so, and cannot be read after that", []string{"role a/x none=true", "role a/x select=?"}, false},
		{"its select cannot be read", []string{"role a/x select=?"}, false},
		{"its select is mended, and selects others", []string{"role a/x select=?", "role a/x select=team=red"}, false},
		{"its select selects others", []string{"role a/x select=team=blue", "role a/x select=team=red"}, true},
		{"namespaces get other labels", []string{"role a/x select=team=blue", "ns b team=red\nns c team=red"}, false},
		{"the same, and the source is changed otherwise", []string{"role a/x select=team=blue", "ns b team=red\nns c team=red", "role a/x select=team=green"}, false},
		{"the subtree leaves, and the source says that there is to be none", []string{"parent b=", "role a/x none=true"}, true},
		{"the source says so, then otherwise, and the subtree leaves", []string{"role a/x none=true", "role a/x", "parent b="}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.tell("ns a\nns b team=blue\nns c team=blue\nparent b=a\nparent c=b\nrole a/x\ncopy b/x<a\ncopy c/x<a")
			for _, lines := range tt.story {
				r.tell(lines)
			}
			for _, at := range []string{"b/x", "c/x"} {
				p := r.plan(at)
				if p.Action != propagate.Remove || p.Have == nil {
					t.Fatalf("%s does not go: %+v", at, p.Verdict)
				}
				if p.Explained != tt.want {
					t.Errorf("that %s goes is explained: %t, want %t", at, p.Explained, tt.want)
				}
			}
		})
	}
}

// What the watch tells is in order, also when it begins anew from a backup of etcd,
// or its versions cannot be compared. Only a write is known sooner than the watch
// tells what was before it.
func TestSeenCopy_versions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, wrote, versions, want string }{
		{"one after the other", "", "5 6", "6"},
		{"from a backup", "", "5 3", "3"},
		{"that cannot be compared", "", "5 a b", "b"},
		{"from before a write", "6", "5", "6"},
		{"after a write", "6", "5 6 7", "7"},
		{"from a backup, when the write was seen", "6", "5 6 3", "3"},
		{"that cannot be compared to that of a write", "6", "a", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.tell("ns a\nns b\nparent b=a\nrole a/x")
			at := CopyRef{role("x"), "b"}
			if tt.wrote != "" {
				r.Wrote(at, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "x", UID: "u", ResourceVersion: tt.wrote}}, r.plan("b/x").From)
			}
			for version := range strings.FieldsSeq(tt.versions) {
				c := &Copy{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "x", UID: "u", ResourceVersion: version}, From: "a"}
				r.do(func(s *state, b *batch) { s.seen(r.source(), c, b) })
			}
			if got := r.plan("b/x").Have.ResourceVersion; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Of a kind that is not followed any more nothing waits; of one that is not known
// yet nobody can say.
func TestCopy_ofAKindThatIsNotFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tell("ns a\nns b\nparent b=a\nrole a/x")
	secret := CopyRef{propagate.Key{Kind: schema.GroupKind{Kind: "Secret"}, Name: "x"}, "b"}
	if p := r.Copy(secret); p == nil || p.Action != propagate.Leave || p.Have != nil {
		t.Errorf("not followed: %+v", p)
	}
	r.do(func(s *state, _ *batch) { s.kindOf(roles.GroupKind()).synced = false })
	if p := r.plan("b/x"); p != nil {
		t.Errorf("not known yet: %+v", p)
	}
}
