// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// CONTRIBUTING.md names each test and package that only make test-all runs.
func TestLong_testsAndPackagesAreListed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := append(longTests(t), longPackages(t)...)
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s is left to make test-all, and CONTRIBUTING.md does not say so", name)
		}
	}
	if len(names) < 10 {
		t.Errorf("found %q only", names)
	}
}

// longTests returns the test functions that call testkit.Long, or long in the demo.
func longTests(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && declared.MatchString("func "+f.Name.Name+"(") && isLong(f) {
				names = append(names, f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// isLong reports whether the body of a function calls Long. A call in a nested function is about a subtest.
func isLong(f *ast.FuncDecl) bool {
	for _, s := range f.Body.List {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			continue
		}
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		switch called := call.Fun.(type) {
		case *ast.SelectorExpr:
			if called.Sel.Name == "Long" {
				return true
			}
		case *ast.Ident:
			if called.Name == "long" {
				return true
			}
		}
	}
	return false
}

// longPackages returns the packages that the runner excludes from make test.
func longPackages(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "hack", "test", "phases.go"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)var long = \[\]string\{(.*?)\n\}`).FindSubmatch(text)
	if list == nil {
		t.Fatal("hack/test has no list of long packages")
	}
	for _, quoted := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, string(quoted[1]))
	}
	return names
}
