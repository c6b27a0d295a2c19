// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern is regular expressions with look-ahead for the keys of labels and
// annotations. Go's own have none, and those that Strimzi's users have do.
package pattern

import (
	"fmt"
	"time"

	"github.com/dlclark/regexp2"
)

// timeout bounds how long a pattern may look at one key. Patterns with look-ahead can
// take for ever on the wrong key, and whoever may label an object chooses the key.
const timeout = 100 * time.Millisecond

// Pattern is a regular expression for whole keys; nil matches none. It is safe for
// concurrent use.
type Pattern struct {
	expression *regexp2.Regexp
}

// Compile reads a regular expression.
func Compile(in string) (*Pattern, error) {
	// Alone first: in the group around it "a)|(?:b" would be one, and match parts.
	if _, err := regexp2.Compile(in, regexp2.None); err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	whole, err := regexp2.Compile(`\A(?:`+in+`)\z`, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("must be a regular expression: %w", err)
	}
	whole.MatchTimeout = timeout
	return &Pattern{whole}, nil
}

// Matches says whether the whole key matches.
func (p *Pattern) Matches(key string) (bool, error) {
	if p == nil {
		return false, nil
	}
	matched, err := p.expression.MatchString(key)
	if err != nil {
		return false, fmt.Errorf("the pattern takes too long on the key %q: %w", key, err)
	}
	return matched, nil
}
