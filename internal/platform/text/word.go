// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PlainWord is the pattern of names that stand in a command and in a sentence as they are. Nearly all names of Kubernetes
// are plain; those of Roles and their bindings may have any character but / and %.
const PlainWord = `^[A-Za-z0-9_.:@/-]+$`

// PlainLine is the pattern of texts that IsPlainLine accepts.
const PlainLine = `^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\x{FFFD}]*$`

// IsPlainLine reports whether a text is one line that Harmless leaves as it is.
func IsPlainLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || steers(r) })
}

// Word is a name that others have chosen, as one word of a shell's command in one line: the command does what it says when
// it is copied, and the name neither steers a terminal nor looks like another line.
func Word(name string) string {
	switch {
	case plain(name):
		return name
	case printable(name):
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	// bash, zsh, ksh and busybox read this, and no other form can have control characters in one line.
	quoted := strconv.QuoteToASCII(name)
	return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
}

// plain reports whether a name matches PlainWord.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.:@/-", r))
	})
}

// printable reports whether a name has nothing but ASCII that can be seen, and spaces.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
}

// Harmless makes visible what would steer a terminal: control characters but tabs and line breaks, marks that change the
// direction of writing, characters without width, and bytes that are no text.
func Harmless(s string) string {
	if !strings.ContainsFunc(s, steers) {
		return s
	}
	var out strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case r == '\x1b':
			out.WriteString("^[") // as kubectl
		case steers(r):
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			out.WriteRune(r)
		}
		s = s[size:]
	}
	return out.String()
}

func steers(r rune) bool {
	return r == utf8.RuneError || r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}
