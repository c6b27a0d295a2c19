// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

// blackBox is a package of tests that imports nothing of the manager that it runs.
const blackBox = `package blackbox

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

func TestReady(t *testing.T) {
	if err := testkit.Shared(t).Manager.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
`

// What the manager does is not in the import graph of such a test. Go's cache of test results must see all
// the same that another manager is tested.
func TestCache_aChangeOfTheManagerRunsBlackBoxTestsAgain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tree := copyOfTree(t)
	write(t, filepath.Join(tree, "test", "blackbox", "blackbox_test.go"), blackBox)
	run := func() string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "run", "./hack/test", "./test/blackbox")
		cmd.Dir = tree
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "1 passed, 0 failed, 0 skipped") {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const fromCache = "1 packages (1 from Go's cache of test results)"
	if out := run(); strings.Contains(out, fromCache) {
		t.Fatalf("the first run is cached:\n%s", out)
	}
	if out := run(); !strings.Contains(out, fromCache) {
		t.Errorf("a second run tests the same again:\n%s", out)
	}
	write(t, filepath.Join(tree, "cmd", "holdfast-manager", "changed.go"), "package main\n\nimport \"os\"\n\nfunc init() { _ = os.Setenv(\"CHANGED\", \"yes\") }\n")
	if out := run(); strings.Contains(out, fromCache) {
		t.Errorf("another manager is not tested:\n%s", out)
	}
	if out := run(); !strings.Contains(out, fromCache) {
		t.Errorf("the changed manager is tested twice:\n%s", out)
	}
	manifest := filepath.Join(tree, "config", "namespaces", "holdfast-system.yaml")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, manifest, string(text)+"# changed\n")
	if out := run(); strings.Contains(out, fromCache) {
		t.Errorf("another manifest is not tested:\n%s", out)
	}
}

// copyOfTree copies the files of the checkout that git does not ignore.
func copyOfTree(t *testing.T) string {
	t.Helper()
	root, err := nested.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir = root
	files, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	for file := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tree, file), string(content))
	}
	return tree
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
