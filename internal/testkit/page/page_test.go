// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse_findsWhatIsFencedInListsToo(t *testing.T) {
	t.Parallel()
	source := "# A\n\n```sh\none\n```\n\n```text\n1\n```\n\n## B `c`\n\n- x:\n\n  ```sh\n  two \\\n    three\n  ```\n\n```yaml\na: b\n```\n\n## C\n\n```text\nnothing's\n```\n"
	want := []Script{{"x.md", "A", "one\n", "1\n"}, {"x.md", "B `c`", "two \\\n  three\n", ""}}
	got := parse("x.md", []byte(source))
	if diff := cmp.Diff(want, got.scripts, cmp.AllowUnexported(Script{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Script{{"x.md", "C", "", "nothing's\n"}}, got.told, cmp.AllowUnexported(Script{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("a: b\n", got.YAML(t, "B `c`")); diff != "" {
		t.Error(diff)
	}
}

func TestMissing_isTheFirstLineThatWasNotPrinted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, printed, shown, want string }{
		{name: "all is there", printed: "a b\nc", shown: "a b\nc\n"},
		{name: "blanks do not count", printed: "NAME    AGE\n x  3s\n", shown: "NAME AGE\nx 3s\n"},
		{name: "dots stand for anything", printed: "x 3s (because)\n", shown: "x … (…)\n"},
		{name: "other lines between", printed: "a\nb\nc\n", shown: "a\nc\n"},
		{name: "a line is a whole one", printed: "not ready\n", shown: "ready\n", want: "ready"},
		{name: "the order counts", printed: "a\nb\n", shown: "b\na\n", want: "a"},
		{name: "signs mean themselves", printed: "axb\n", shown: "a.b\n", want: "a.b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := missing(tt.printed, tt.shown); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDoes_runsTheScriptsOfASection(t *testing.T) {
	t.Parallel()
	p := parse("x.md", []byte("## A\n```sh\necho $X\n```\n```text\n1 …\n```\n## B\n```sh\npwd\nread a; echo $a\n```\n## C\n```sh\necho 'error: no'; false\n```\n```text\nerror: …\n```\n## D\n```sh\necho 'it would be refused'; exit 3\n```\n```text\nit would be refused\n```\n"))
	dir := t.TempDir()
	got := Reader{Dir: dir, Env: []string{"X=1 2"}, Stdin: "yes\n"}.Does(t, p, "A", "B", "C", "D")
	if want := "1 2\n" + dir + "\nyes\nerror: no\nit would be refused\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
