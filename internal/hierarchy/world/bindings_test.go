// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
)

// bindings are the RoleBindings among what is to be looked at, as "b/x c/x".
func (r *rig) bindings(d Dirty) string {
	var out []string
	for at := range d.Copies {
		if at.Kind == roleBindings.GroupKind() {
			out = append(out, at.Namespace+"/"+at.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

const chain = "ns a\nns b\nns c\nns d\nparent b=a\nparent c=b\n"

func TestDirty_roleBindingsFollowTheirRoles(t *testing.T) {
	t.Parallel()
	const all = chain + "role a/x\ncopy b/x<a\ncopy c/x<a\nrb a/x\nbind b/x<a\nbind c/x<a"
	for _, tt := range []struct{ name, before, after, want string }{
		{"a Role appears", chain + "rb a/x", "role a/x", "b/x c/x"},
		{"a Role goes", all, "delete a/x", "b/x c/x"},
		{"a Role is excluded", all, "role a/x none=true", "b/x c/x"},
		{"a Role is excluded in a part", all, "role a/x treeSelect=!c", "c/x"},
		{"a Role is told of again as it was", all, "role a/x", ""},
		{"a copy of a Role appears", chain + "role a/x\nrb a/x", "copy b/x<a", "b/x"},
		{"a copy of a Role goes", all, "delete c/x", "c/x"},
		{"a copy of a Role goes that a RoleBinding there refers to", all + "\nunbind a/x\nunbind b/x\nunbind c/x\nrb b/x\nbind c/x<b", "delete b/x", "c/x"},
		{"a copy of a Role comes again as it was", all, "copy b/x<a", ""},
		{"another Role", all, "role a/y", ""},
		{"a Role of that name in another tree", all, "role d/x", ""},
		{"a Role where a copy remains of a RoleBinding that is gone", all + "\nunbind a/x", "delete a/x", "b/x c/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.tell(tt.before)
			r.tell(tt.after)
			if diff := gocmp.Diff(tt.want, r.bindings(r.dirty)); diff != "" {
				t.Errorf("to be looked at (-want +got):\n%s", diff)
			}
		})
	}
}

// What is written is known before the watch tells it.
func TestWrote_aRoleAddsTheRoleBindingsThatWaitForIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tell(chain + "role a/x\nrb a/x")
	r.dirty = Dirty{}
	at := CopyRef{role("x"), "b"}
	written := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "x", UID: "u", ResourceVersion: "900"}}
	r.Wrote(at, written, r.plan("b/x").From)
	if diff := gocmp.Diff("b/x", r.bindings(r.dirty)); diff != "" {
		t.Errorf("to be looked at (-want +got):\n%s", diff)
	}
	if p := r.Copy(CopyRef{binding("x"), "b"}); p.Action != propagate.Copy {
		t.Errorf("the RoleBinding is not copied: %s", p.Reason)
	}
	r.dirty = Dirty{}
	written.ResourceVersion = "901"
	r.Wrote(at, written, r.plan("b/x").From)
	if got := r.bindings(r.dirty); got != "" {
		t.Errorf("the same Role again: %s is to be looked at", got)
	}
}

// After a start RoleBindings come first at times.
func TestCopy_ofRoleBindingsWaitsUntilRolesAreKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	roleKind := r.state.kindOf(propagate.RoleKind)
	roleKind.synced = false
	r.tell(chain + "rb a/x")
	at := CopyRef{binding("x"), "b"}
	if got := r.bindings(r.dirty); got != "" || r.Copy(at) != nil {
		t.Errorf("%s is to be looked at, and the plan is %+v", got, r.Copy(at))
	}
	r.tell("role a/x\ncopy b/x<a")
	r.do(func(s *state, b *batch) { s.syncedNow(r.source(), b) })
	if got := r.bindings(r.dirty); got != "b/x c/x" {
		t.Errorf("%q is to be looked at", got)
	}
	if p := r.Copy(at); p == nil || p.Action != propagate.Copy {
		t.Errorf("the plan is %+v", p)
	}
}

func TestCopy_ofARoleBindingThatGoes(t *testing.T) {
	t.Parallel()
	const all = chain + "role a/x\ncopy b/x<a\nrb a/x\nbind b/x<a"
	for _, tt := range []struct {
		name, story       string
		explained, unsafe bool
	}{
		{name: "somebody excludes the Role", story: "role a/x none=true", explained: true},
		{name: "somebody deletes the Role", story: "delete a/x", explained: true},
		{name: "the Role is missing from a list", story: "miss a/x"},
		{name: "the Role is missing from a list, and so is its copy", story: "miss a/x\nmiss b/x", unsafe: true},
		{name: "the copy of the Role is gone", story: "delete b/x", unsafe: true},
		{name: "the subtree leaves", story: "parent b="},
		{name: "the subtree leaves for one with another such Role", story: "role d/x\nparent b=d", unsafe: true},
		{name: "somebody deletes the RoleBinding", story: "unbind a/x", explained: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.tell(all)
			r.tell(tt.story)
			p := r.Copy(CopyRef{binding("x"), "b"})
			if p.Action != propagate.Remove || p.Have == nil {
				t.Fatalf("it does not go: %+v", p.Verdict)
			}
			if p.Explained != tt.explained || p.Unsafe != tt.unsafe {
				t.Errorf("explained %t, unsafe %t; want %t, %t", p.Explained, p.Unsafe, tt.explained, tt.unsafe)
			}
		})
	}
}

// A finalizer keeps the copies of a RoleBinding as they are, but not one that refers to another Role.
func TestCopy_ofAHeldRoleBindingRefersToTheSameRole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tell(chain + "role a/x\ncopy b/x<a\nrb a/x\nbind b/x<a")
	at := CopyRef{binding("x"), "b"}
	held := r.objects["rb a/x"].DeepCopy()
	held.SetFinalizers([]string{"example.com/held"})
	held.SetResourceVersion("901")
	r.do(func(s *state, b *batch) { s.seen(r.sourceOf(roleBindings), held, b) })
	if p := r.Copy(at); p.Action != propagate.Leave {
		t.Errorf("held: %+v", p.Verdict)
	}
	other := held.DeepCopy()
	other.Object["roleRef"] = map[string]any{"kind": "ClusterRole", "name": "x"}
	other.SetResourceVersion("902")
	r.do(func(s *state, b *batch) { s.seen(r.sourceOf(roleBindings), other, b) })
	if p := r.Copy(at); p.Action != propagate.Remove || !p.Unsafe {
		t.Errorf("it refers to something else: %+v, unsafe %t", p.Verdict, p.Unsafe)
	}
}

func TestSource_saysWhereARoleBindingIsWithheld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tell(chain + "role a/x treeSelect=!c\nrb a/x\nrole c/x\ncopy b/x<a")
	want := []Withheld{{"c", propagate.RoleNotCopied}}
	if diff := gocmp.Diff(want, r.Source(CopyRef{binding("x"), "a"}).Withheld); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.Source(CopyRef{role("x"), "a"}).Withheld; got != nil {
		t.Errorf("a Role is withheld: %v", got)
	}
}

// A change of one Role looks at the RoleBindings that refer to it, and not at those of Roles that have its name elsewhere.
func TestDirty_aRoleCostsWhatDependsOnIt(t *testing.T) {
	r := newRig(t)
	var lines strings.Builder
	lines.WriteString(chain + "role a/x\nrb a/x\ncopy b/x<a\ncopy c/x<a\nbind b/x<a\nbind c/x<a\n")
	r.tell(lines.String())
	cost := func() float64 {
		return testing.AllocsPerRun(20, func() { r.tell("role a/x treeSelect=!c\nrole a/x") })
	}
	few := cost()
	lines.Reset()
	for i := range 2000 {
		fmt.Fprintf(&lines, "ns t%d\nrole t%d/x\nrb t%d/x\n", i, i, i)
	}
	r.tell(lines.String())
	if many := cost(); many > 1.5*few {
		t.Errorf("%v allocations beside 2,000 other Roles of that name, %v without", many, few)
	}
}
