// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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
