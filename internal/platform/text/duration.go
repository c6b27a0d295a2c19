// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text writes values as people write them.
package text

import (
	"strings"
	"time"
)

// Duration writes a duration exactly, without the parts that are zero: "1h", where
// Go writes "1h0m0s". It can be read again by time.ParseDuration.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
