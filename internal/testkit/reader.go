// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// Reader is somebody with a checkout who does what a page says, as an administrator of the
// cluster. The plugin is on the PATH if the TestMain puts it there.
func (e *Env) Reader(t testing.TB) page.Reader {
	t.Helper()
	root, err := cluster.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(e.Cluster.Kubectl, filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	return page.Reader{Dir: root, Env: []string{"KUBECONFIG=" + e.Kubeconfig, "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")}}
}
