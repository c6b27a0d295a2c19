// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

func TestDirty_copies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, after, want string }{
		{"one that was written as it should be", "", "copy b/x<a\ncopy c/x<a", ""},
		{"a source that is there again", "parent b=", "parent b=a", "b/x c/x"},
		{"a source that changes", "", "role a/x none=true", "a/x b/x c/x"},
		{"one that somebody deletes", "", "delete b/x", "b/x"},
		{"one that is told of while its namespace moves", "parent b=", "parent b=a\ncopy b/x<a", "b/x c/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.tell("ns a\nns b\nns c\nparent b=a\nparent c=b\nrole a/x\ncopy b/x<a\ncopy c/x<a")
			r.tell(tt.before)
			r.tell(tt.after)
			var got []string
			for at := range r.dirty.Copies {
				got = append(got, at.Namespace+"/"+at.Name)
			}
			slices.Sort(got)
			if diff := gocmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("to be looked at (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	const depth = hncv1alpha2.LabelTreeDepthSuffix
	for _, tt := range []struct {
		name      string
		has       string // labels without their suffix
		condition corev1.ConditionStatus
		want      bool
		made      bool // by Holdfast, as a subnamespace
	}{
		{name: "made a moment ago", has: "a=1 b=0", made: true, want: true},
		{name: "made, and complete", has: "a=1 b=0", condition: "True", made: true},
		{name: "taken over as it should be", has: "a=1 b=0"},
		{name: "complete", has: "a=1 b=0", condition: "True"},
		{name: "not complete", has: "a=1 b=0", condition: "False", want: true},
		{name: "on its way", has: "b=0", want: true},
		{name: "on its way, and complete where it was", has: "b=0", condition: "True", want: true},
		{name: "on its way from somewhere else, and complete there", has: "a=1 b=0 c=2", condition: "True", want: true},
		{name: "in another place of the same tree", has: "a=2 b=0", condition: "True", want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns := &corev1.Namespace{}
			ns.Labels = map[string]string{"other": "x"}
			for key, value := range pairs(strings.Fields(tt.has), "") {
				ns.Labels[key+depth] = value
			}
			if tt.condition != "" {
				ns.Status.Conditions = []corev1.NamespaceCondition{{Type: v1alpha1.ConditionPropagationComplete, Status: tt.condition}}
			}
			if tt.made {
				ns.Annotations = map[string]string{v1alpha1.ClaimsAnnotation: "subnamespace anchor/b"}
			}
			o := &tree.Outcome{Subnamespace: true, Labels: map[string]string{"a" + depth: "1", "b" + depth: "0", "colour": "red"}}
			if got := unfinished(ns, o); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
