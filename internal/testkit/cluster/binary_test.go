// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

func TestVersionFlags_giveTheVersionThatTheModuleRequires(t *testing.T) {
	t.Parallel()
	flags, err := versionFlags(module(t, "k8s.io/kubernetes v1.99.3"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(flags, " ")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.99.3",
		"-X k8s.io/component-base/version.gitMinor=99",
		"-X k8s.io/client-go/pkg/version.gitMajor=1",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %q", want, all)
		}
	}
}

func TestVersionFlags_needAVersion(t *testing.T) {
	t.Parallel()
	if flags, err := versionFlags(module(t, "k8s.io/api v0.99.3")); err == nil {
		t.Errorf("got %q of a module that does not require Kubernetes", flags)
	}
}

// module requires one other module.
func module(t *testing.T, requires string) *nested.Module {
	t.Helper()
	file := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(file, []byte("module example.com/m\n\nrequire (\n\t"+requires+"\n)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &nested.Module{File: file}
}
