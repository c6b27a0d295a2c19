// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What this package writes it reads.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message string
		want    Told
	}{
		{fmt.Sprintf(TextCopyChanged, "a"), Told{CopyOf: "a"}},
		{fmt.Sprintf(TextCopyDeleted, `a"b`), Told{CopyOf: `a"b`}},
		{Kept("a", "because\nof \"b\"").Denied.Message, Told{Kept: "a", Why: "because\nof \"b\""}},
		{forbidden(textByItsAnchor, "s", "p").Denied.Message, Told{Subnamespace: "s", Anchor: "p"}},
		{forbidden(textHasBelow, "p", "s, t").Denied.Message, Told{Parent: "p"}},
		{forbidden(textAnchorBelow, "s", "t").Denied.Message, Told{Parent: "s"}},
		{conflict(textTakesPlace, "Role", "view", "a, b").Denied.Message, Told{Overwrites: "a, b"}},
		{Unauthorized("p").Denied.Message, Told{NoRight: "p"}},
		{"something else", Told{}},
		{"before it: " + fmt.Sprintf(TextCopyChanged, "a"), Told{}},
	} {
		if diff := cmp.Diff(tt.want, Read(tt.message)); diff != "" {
			t.Errorf("%s: %s", tt.message, diff)
		}
	}
}
