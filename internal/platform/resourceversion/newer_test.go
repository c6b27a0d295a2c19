// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package resourceversion

import "testing"

func TestNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		version, than string
		want          bool
	}{
		{name: "a later one, by number and not by text", version: "10", than: "9", want: true},
		{name: "an earlier one", version: "9", than: "10"},
		{name: "the same", version: "9", than: "9"},
		{name: "one that nobody has written yet", version: "9", than: ""},
		{name: "one of an API server that counts otherwise", version: "b", than: "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Newer(tt.version, tt.than); got != tt.want {
				t.Errorf("%q after %q: %t", tt.version, tt.than, got)
			}
		})
	}
}
