// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"a name of Kubernetes", "web-0.shop", "web-0.shop"},
		{"a name of RBAC", "system:controller:job_1", "system:controller:job_1"},
		{"a second command", "x;id #", "'x;id #'"},
		{"a substitution", "$(id)`id`", "'$(id)`id`'"},
		{"a quote", "it's", `'it'\''s'`},
		{"a glob", "*", "'*'"},
		{"a home", "~root", "'~root'"},
		{"nothing", "", "''"},
		{"a second line and a screen that is cleared", "esc\x1b[2J\nfake: line", `$'esc\x1b[2J\nfake: line'`},
		{"both quotes beside a control character", "a'b\"c\\d\x01", `$'a\'b\"c\\d\x01'`},
		{"a text that is written backwards", "a\u202eb", `$'a\u202eb'`},
		{"another script", "größe", `$'gr\u00f6\u00dfe'`},
		{"no text", "a\xff", `$'a\xff'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Word(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"two\nlines\tand größe": "two\nlines\tand größe",
		"\x1b[31mred\x1b[0m":    "^[[31mred^[[0m",
		"over\rwritten":         `over\rwritten`,
		"\u009b2J":              `\u009b2J`,
		"a\u202eb\u2066c":       `a\u202eb\u2066c`,
		"a\u200bb\u2028c":       `a\u200bb\u2028c`,
		"\xff\x00\x07":          `\xff\x00\a`,
	} {
		if got := Harmless(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// FuzzWord has a shell read words: each is the name again, and one line of visible ASCII. What is Harmless has nothing left
// that steers.
func FuzzWord(f *testing.F) {
	for _, seed := range []string{"web", "x;id #", "a'b", "esc\x1b[2J\nfake", "\u202e", "\xff", "$(id)", "\\", "'", "-n", "a\\'b\x02", "\\x41\x01"} {
		f.Add(seed)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("the words are for bash, which is not here")
	}
	pattern := regexp.MustCompile(PlainWord)
	f.Fuzz(func(t *testing.T, name string) {
		if harmless := Harmless(name); strings.ContainsFunc(harmless, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
		}) || !utf8.ValidString(harmless) {
			t.Errorf("Harmless(%q) is %q", name, harmless)
		}
		word := Word(name)
		if !printable(word) || (word == name) != pattern.MatchString(name) {
			t.Errorf("Word(%q) is %q", name, word)
		}
		if strings.Contains(name, "\x00") || strings.Contains(word, `\u`) || strings.Contains(word, `\U`) {
			return // no argument of a program has a zero, and the locale decides how other characters are written
		}
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s. "+word).Output()
		if err != nil || string(out) != name+"." {
			t.Errorf("bash reads %s as %q, and it is %q: %v", word, out, name+".", err)
		}
	})
}
