// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// named is a test in a document; with an asterisk, all whose names begin so.
	named    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*\*?`)
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// tests are the names of all tests of the repository, those of its nested modules
// among them.
func tests(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a document says is shown by a test is shown by one that there is.
func TestTests_thatAreNamedAreThere(t *testing.T) {
	t.Parallel()
	all, found := tests(t), 0
	for page, text := range pages(t) {
		for _, name := range named.FindAllString(text, -1) {
			found++
			start, many := strings.CutSuffix(name, "*")
			if !slices.ContainsFunc(all, func(have string) bool { return have == start || many && strings.HasPrefix(have, start) }) {
				t.Errorf("%s names %s, and there is no such test", page, name)
			}
		}
	}
	if found == 0 {
		t.Error("no document names a test")
	}
}

// yes is a row of a table that says so, and what shows it.
var yes = regexp.MustCompile(`(?m)^\| [^|]+ \| yes\b[^|]*\|([^|]*)\|$`)

// Whoever comes from another project relies on these.
func TestCompatibility_eachYesNamesItsTest(t *testing.T) {
	t.Parallel()
	rows := yes.FindAllStringSubmatch(pages(t)[filepath.Join(root, "docs", "compatibility.md")], -1)
	if len(rows) < 100 {
		t.Errorf("%d rows say yes", len(rows))
	}
	for _, row := range rows {
		if !named.MatchString(row[1]) {
			t.Errorf("no test is named: %s", row[0])
		}
	}
}
