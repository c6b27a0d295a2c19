// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

// bound makes sources named "x" from words: "role@a" is a Role in a, "rb@a" a RoleBinding in a that refers to it. Words
// after a colon are annotations, as in "role@a:none=true"; "finalizer" is one, and "rootsync" a RoleBinding of a RootSync.
func bound(words string) *Sources {
	s := NewSources(Rules{})
	for word := range strings.FieldsSeq(words) {
		word, says, _ := strings.Cut(word, ":")
		kind, namespace, _ := strings.Cut(word, "@")
		o := object(role)
		switch says {
		case "", "finalizer", "rootsync":
			o.Finalizers, o.BindsRootSync = says == "finalizer", says == "rootsync"
		default:
			o = object(role, says)
		}
		if kind == "rb" {
			o.Kind, o.Role = roleBinding, "x"
		}
		o.Namespace = namespace
		s = s.With(Rules{}.NewSource(o))
	}
	return s
}

// cached is a cache of Roles named "x" from words: "a" is one of a, "b<a" a copy of that in b, and "b<a=2" one with other rules.
func cached(words string) Roles {
	roles := map[string]Role{}
	for word := range strings.FieldsSeq(words) {
		word, rules, _ := strings.Cut(word, "=")
		namespace, from, isCopy := strings.Cut(word, "<")
		if !isCopy {
			from = namespace
		}
		roles[namespace] = Role{Origin: from, Rules: rules}
	}
	return func(name, namespace string) Role {
		if name != "x" {
			return Role{}
		}
		return roles[namespace]
	}
}

func TestDecide_roleBindingsGrantWhatTheirSourceGrants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		tree          string
		sources, have string
		in            string
		want          string
	}{
		{name: "the copy of its Role is there: it is copied", sources: "role@a rb@a", have: "a b<a", want: "Copy"},
		{name: "in a deeper namespace too", sources: "role@a rb@a", have: "a c<a", in: "c", want: "Copy"},
		{name: "its Role is itself a copy there and here", sources: "role@a rb@b", have: "a b<a c<a", in: "c", want: "Copy"},
		{name: "its Role does not exist", sources: "rb@a", want: "Remove RoleMissing"},
		{name: "its Role does not exist, and the descendant has one", sources: "rb@a", have: "b", want: "Remove RoleMissing"},
		{name: "its Role is excluded", sources: "role@a:none=true rb@a", have: "a", want: "Remove RoleNotCopied"},
		{name: "its Role is excluded, and the descendant has one", sources: "role@a:none=true rb@a role@b", have: "a b", want: "Remove RoleNotCopied"},
		{name: "its Role is excluded, and the copy still there", sources: "role@a:none=true rb@a", have: "a b<a", want: "Remove RoleNotCopied"},
		{name: "the exceptions of its Role cannot be read", sources: "role@a:select=? rb@a", have: "a b<a", want: "Remove RoleNotCopied"},
		{name: "its Role goes to another subtree", sources: "role@a:treeSelect=!b rb@a", have: "a e<a", want: "Remove RoleNotCopied"},
		{name: "and is copied where that goes", sources: "role@a:treeSelect=!b rb@a", have: "a e<a", in: "e", want: "Copy"},
		{name: "the copy of its Role is still to come", sources: "role@a rb@a", have: "a", want: "Remove RolePending"},
		{name: "the descendant keeps another Role", sources: "role@a rb@a role@b", have: "a b", want: "Remove RoleDiffers"},
		{name: "the descendant keeps another Role with the same rules", sources: "role@a rb@a role@b", have: "a=1 b=1", want: "Remove RoleDiffers"},
		{name: "the descendant still has the copy of another", sources: "role@a rb@a", have: "a b<z", want: "Remove RoleDiffers"},
		{name: "a Role further up is copied past it", sources: "role@a:treeSelect=c role@b rb@b", have: "a b c<a", in: "c", want: "Remove RoleDiffers"},
		{name: "its Role is its own and not the one further up", sources: "role@a role@b rb@b", have: "a b c<a", in: "c", want: "Remove RoleDiffers"},
		{name: "the copy of its Role has old rules", sources: "role@a rb@a", have: "a=2 b<a=1", want: "Leave RoleOutdated"},
		{name: "the copy that it refers to has old rules", sources: "role@a rb@b", have: "a=2 b<a=1 c<a=2", in: "c", want: "Leave RoleOutdated"},
		{name: "both have the same old rules", sources: "role@a rb@b", have: "a=2 b<a=1 c<a=1", in: "c", want: "Copy"},
		{name: "its Role has a finalizer, and the copy is as it was", sources: "role@a:finalizer rb@a", have: "a b<a", want: "Copy"},
		{name: "its Role has a finalizer, and there is no copy", sources: "role@a:finalizer rb@a", have: "a", want: "Remove RolePending"},
		{name: "it has a finalizer: what is there stays", sources: "role@a rb@a:finalizer", have: "a b<a", want: "Leave"},
		{name: "it has a finalizer, and its Role goes", sources: "role@a:none=true rb@a:finalizer", have: "a", want: "Remove RoleNotCopied"},
		{name: "it is excluded itself", sources: "role@a rb@a:none=true", have: "a b<a", want: "Remove"},
		{name: "it is for a RootSync", sources: "role@a rb@a:rootsync", have: "a b<a", want: "Remove"},
		{name: "in a halted namespace nothing changes", tree: "?z <- a <- b", sources: "rb@a", have: "b", want: "Leave"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			made, in := tt.tree, tt.in
			if made == "" {
				made = family
			}
			if in == "" {
				in = "b"
			}
			v := bound(tt.sources).Decide(treetest.Make(t, made), Key{roleBinding, "x"}, in, cached(tt.have))
			if diff := cmp.Diff(tt.want, strings.TrimSpace(string(v.Action)+" "+string(v.Reason))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if withheld := v.Reason != ""; withheld && v.Source == nil {
				t.Error("it does not say what is withheld")
			}
		})
	}
}

func TestDecide_roleBindingsToClusterRolesNeedNoRole(t *testing.T) {
	t.Parallel()
	o := object(roleBinding)
	s := NewSources(Rules{}).With(Rules{}.NewSource(o))
	if got := copies(s, treetest.Make(t, family), Key{roleBinding, "x"}); got != "b:a c:a d:a e:a" {
		t.Errorf("copies in %q", got)
	}
}

func TestUnsafe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		sources, have string
		want          bool
	}{
		{name: "there is no Role", sources: "rb@a", want: true},
		{name: "there is another Role", sources: "role@a:none=true rb@a role@b", have: "a b", want: true},
		{name: "there is another Role, and no source any more", have: "b", want: true},
		{name: "the copy of its Role goes too", sources: "role@a:none=true rb@a", have: "a b<a"},
		{name: "its Role is gone, and the copy goes too", sources: "rb@a", have: "b<a"},
		{name: "its source is gone, and the Role stays", sources: "role@a", have: "a b<a"},
		{name: "its source and its Role are gone, and the copies of both are there", have: "b<a"},
		{name: "the Role becomes the copy of another", sources: "role@a", have: "a b<z", want: true},
		{name: "its source never referred to the Role that is there", sources: "rb@a", have: "a b<z", want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := bound(tt.sources)
			if got := s.Unsafe(treetest.Make(t, "z, a <- b"), "x", "b", s.Get(Key{roleBinding, "x"}, "a"), cached(tt.have)); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestBoundRoleAndRulesOf(t *testing.T) {
	t.Parallel()
	binding := parsed(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x}, roleRef: {kind: Role, name: dba}}`)
	for _, tt := range []struct{ kind, want string }{{"Role", "dba"}, {"ClusterRole", ""}} {
		b := binding.DeepCopy()
		b.Object["roleRef"].(map[string]any)["kind"] = tt.kind
		if got := BoundRole(roleBinding, b); got != tt.want {
			t.Errorf("a RoleBinding to a %s refers to %q", tt.kind, got)
		}
	}
	if got := BoundRole(secret, binding) + RulesOf(secret, binding); got != "" {
		t.Errorf("another kind has %q", got)
	}
	some := parsed(t, `{metadata: {name: x, labels: {a: b}}, rules: [{verbs: [get]}]}`)
	same := parsed(t, `{metadata: {name: x, namespace: b}, rules: [{verbs: [get]}]}`)
	other := parsed(t, `{metadata: {name: x}, rules: [{verbs: [list]}]}`)
	if RulesOf(role, some) != RulesOf(role, same) || RulesOf(role, some) == RulesOf(role, other) {
		t.Error("the digest is not one of the rules alone")
	}
	if RulesOf(role, parsed(t, `{rules: []}`)) != RulesOf(role, parsed(t, `{rules: null}`)) {
		t.Error("a Role without rules has two digests")
	}
}
