// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel writes values into CEL expressions, and evaluates expressions that
// users write.
package cel

import (
	"strconv"
	"strings"
)

// String is a CEL string literal. Go's escapes are CEL's for all valid UTF-8.
func String(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }

// Strings is a CEL list of string literals.
func Strings(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = String(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
