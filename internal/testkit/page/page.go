// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package page does what a page of the documentation says, as its reader would: it runs
// the commands of a section and holds what they print against what the page shows.
package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

// Page is a document in Markdown.
type Page struct {
	path    string
	scripts []Script
	// told has what is shown below no script.
	told []Script
	yaml []block
}

// block is a fenced block of kind "yaml".
type block struct{ section, text string }

// Script is a fenced block of kind "sh".
type Script struct {
	path, section, text string
	// shows is what the page shows below it, in a block of kind "text".
	shows string
}

// fails reports whether the page shows an error of kubectl or its plugin, or a refusal that "kubectl holdfast why" predicts,
// which has an exit code of its own.
func (s Script) fails() bool {
	for line := range strings.Lines(s.shows) {
		if strings.HasPrefix(line, "Error") || strings.HasPrefix(line, "error:") || strings.HasSuffix(line, " would be refused\n") {
			return true
		}
	}
	return false
}

// Read reads the page that has this path below the root of the module.
func Read(t testing.TB, path string) *Page {
	t.Helper()
	root, err := nested.Root()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return parse(path, source)
}

func parse(path string, source []byte) *Page {
	p, section := &Page{path: path}, ""
	shown := true // whether what is shown would be of no script
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			section, shown = string(n.Lines().Value(source)), true
		case *ast.FencedCodeBlock:
			content := string(n.Lines().Value(source))
			switch string(n.Language(source)) {
			case "sh":
				p.scripts = append(p.scripts, Script{path: path, section: section, text: content})
				shown = false
			case "text":
				if shown {
					p.told = append(p.told, Script{path: path, section: section, shows: content})
				} else {
					p.scripts[len(p.scripts)-1].shows = content
				}
				shown = true
			case "yaml":
				p.yaml = append(p.yaml, block{section, content})
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// Scripts are those of a section, in their order.
func (p *Page) Scripts(t testing.TB, section string) (out []Script) {
	t.Helper()
	for _, s := range p.scripts {
		if s.section == section {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no commands below %q", p.path, section)
	}
	return out
}

// YAML returns what a section has its reader write, in its only block of kind "yaml".
func (p *Page) YAML(t testing.TB, section string) string {
	t.Helper()
	var out []string
	for _, b := range p.yaml {
		if b.section == section {
			out = append(out, b.text)
		}
	}
	if len(out) != 1 {
		t.Fatalf("%s, %q has %d blocks of YAML, want one", p.path, section, len(out))
	}
	return out[0]
}

// Told fails the test unless a section shows, in blocks of text that are below no script,
// what was printed elsewhere, each in its turn: what users see, or a log says.
func (p *Page) Told(t testing.TB, section string, printed ...string) {
	t.Helper()
	var told []Script
	for _, s := range p.told {
		if s.section == section {
			told = append(told, s)
		}
	}
	if len(told) != len(printed) {
		t.Fatalf("%s, %q shows %d texts, want %d", p.path, section, len(told), len(printed))
	}
	for i, s := range told {
		if missing := missing(printed[i], s.shows); missing != "" {
			t.Fatalf("%s, %q shows %q, and what is told is:\n%s", p.path, section, missing, printed[i])
		}
	}
}

// Reader is somebody at a shell.
type Reader struct {
	// Dir is where the commands run.
	Dir string
	// Env is the environment, as NAME=value: the page's variables among it.
	Env []string
	// Stdin is what is typed, for each script anew.
	Stdin string
}

// Does runs each script of the sections with these titles, as Run does.
func (r Reader) Does(t testing.TB, p *Page, sections ...string) string {
	t.Helper()
	var all strings.Builder
	for _, section := range sections {
		all.WriteString(r.Run(t, p.Scripts(t, section)...))
	}
	return all.String()
}

// Run runs scripts, and fails the test where one fails, or does not print what the page
// shows: line by line in the page's order, with any number of blanks for those of the page,
// and anything for its "…". A script of which the page shows an error must fail, with its last
// command. It returns what was printed.
func (r Reader) Run(t testing.TB, scripts ...Script) string {
	t.Helper()
	var all strings.Builder
	for _, s := range scripts {
		said, err := r.run(t, s.text)
		all.WriteString(said)
		if missing := missing(said, s.shows); missing != "" || (err != nil) != s.fails() {
			t.Fatalf("%s, %q: not as the page says (%v, missing %q):\n%s\n%s", s.path, s.section, err, missing, s.text, said)
		}
	}
	return all.String()
}

// run runs a script, and stops at the first command that fails.
func (r Reader) run(t testing.TB, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, append(os.Environ(), r.Env...), strings.NewReader(r.Stdin)
	out, err := cmd.CombinedOutput()
	t.Logf("$ %s\n%s", strings.TrimSpace(script), out)
	return string(out), err
}

// missing is the first line of a page that was not printed.
func missing(printed, shown string) string {
	rest := strings.Split(printed, "\n")
	for line := range strings.Lines(shown) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		for i := range fields {
			fields[i] = strings.ReplaceAll(regexp.QuoteMeta(fields[i]), "…", ".*")
		}
		want := regexp.MustCompile(`^\s*` + strings.Join(fields, `\s+`) + `\s*$`)
		at := 0
		for at < len(rest) && !want.MatchString(rest[at]) {
			at++
		}
		if at == len(rest) {
			return strings.TrimSpace(line)
		}
		rest = rest[at+1:]
	}
	return ""
}
