// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/platform/pattern"
)

func TestPattern_Matches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pattern, key string
		want               bool
	}{
		{"a whole key", "a.*c", "abc", true},
		{"no part of a key", "b", "abc", false},
		{"each alternative is for the whole key", "a|b", "ab", false},
		{"look-ahead that holds", "^app.kubernetes.io/(?!part-of).*", "app.kubernetes.io/name", true},
		{"look-ahead that does not", "^app.kubernetes.io/(?!part-of).*", "app.kubernetes.io/part-of", false},
		{"no line of a key", "(?m)a$", "a\nb", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := pattern.Compile(test.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.Matches(test.key); got != test.want || err != nil {
				t.Errorf("got %t, %v, want %t", got, err, test.want)
			}
		})
	}
}

func TestPattern_takesNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	p, err := pattern.Compile("(a+)+c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Matches(strings.Repeat("a", 60) + "b"); err == nil || !strings.Contains(err.Error(), "takes too long") {
		t.Errorf("got %v", err)
	}
}
