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

// Reader is somebody who does what a page says, as an administrator of the cluster, in a
// folder of their own that has the manifests of the checkout. The plugin is on the PATH if
// the TestMain puts it there.
func (e *Env) Reader(t testing.TB) page.Reader {
	t.Helper()
	root, err := cluster.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	for link, to := range map[string]string{filepath.Join(bin, "kubectl"): e.Cluster.Kubectl, filepath.Join(dir, "config"): filepath.Join(root, "config")} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	return page.Reader{Dir: dir, Env: []string{"KUBECONFIG=" + e.Kubeconfig, "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")}}
}
