// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// Reader is somebody who does what a page says, as an administrator of the cluster, in a
// folder of their own that has the manifests of the checkout.
func (e *Env) Reader(t testing.TB) page.Reader {
	t.Helper()
	root, err := cluster.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "config"), filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	return page.Reader{Dir: dir, Env: []string{"KUBECONFIG=" + e.Kubeconfig, "PATH=" + e.Path(t)}}
}

// Path returns PATH with a folder in front that has kubectl, and the plugin under each name that kubectl looks for.
func (e *Env) Path(t testing.TB) string {
	t.Helper()
	plugin, err := manager.Build(t.Context(), "kubectl-holdfast", false, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, path := range map[string]string{
		"kubectl": e.Cluster.Kubectl, "kubectl-holdfast": plugin, "kubectl_complete-holdfast": plugin,
		"kubectl-hns": plugin, "kubectl_complete-hns": plugin,
	} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin + string(filepath.ListSeparator) + os.Getenv("PATH")
}
