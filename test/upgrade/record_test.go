// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build record

package upgrade

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

var (
	first  = flag.String("first", "", "worktree of the first version")
	binary = flag.String("manager", "", "its manager")
)

// roles are those of the RootSync app: one in a namespace, and one in the whole cluster.
var roles = []string{`{kind: ClusterRole, name: edit, namespace: "{shop}"}`, `{kind: ClusterRole, name: view}`}

func TestRecord(t *testing.T) {
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	s := story.On(t, e, prefix)
	apply := func(paths ...string) {
		args := []string{"apply", "--server-side"}
		for _, p := range paths {
			args = append(args, "-f", filepath.Join(*first, "config", p))
		}
		if out := e.Kubectl(t, args...); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
	}
	apply("namespaces", "crd", "crd/hnc", "crd/configsync")
	s.Eventually(func() int { return e.Kubectl(t, "get", "rootsyncs,subnamespaceanchors,holdfasts", "-A").Code }, "60s", "1s").Should(gomega.BeZero())
	apply("install", "rbac/hierarchy.yaml", "rbac/serviceaccounts.yaml", "rbac/sync.yaml")
	config := filepath.Join(t.TempDir(), "config.yaml")
	s.Expect(os.WriteFile(config, []byte("apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n"+options.Configuration), 0o600)).To(gomega.Succeed())
	var running []*manager.Process
	for _, w := range []manager.Workload{manager.Guard, manager.Sync} {
		dir := t.TempDir()
		args := []string{"--config", config, "--config-map", ""}
		if w == manager.Sync {
			args = append(args, "--cache-dir", filepath.Join(dir, "sources"))
		}
		p, err := manager.Start(t.Context(), e.Cluster, manager.Options{Workload: w, Binary: *binary, Dir: dir, Args: args})
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, p)
		e.Manager, e.Sync = running[0], running[len(running)-1]
	}
	s.Apply(definitions)
	s.Apply(tree + "---" + protected)
	s.Apply(accounts)
	s.Synced("platform", s.Commit("platform", platform))
	s.Eventually(func() string { // RootSyncs of different ages
		return s.Run("get rootsync {platform} -n " + story.Syncs + " -o jsonpath={.metadata.creationTimestamp}").Stdout
	}, story.Patience, "1s").Should(gomega.Satisfy(func(created string) bool { return created < time.Now().Add(-time.Second).UTC().Format(time.RFC3339) }))
	s.Commit("app", app, roles...)
	s.Says("app", "KNV1060")
	s.See("configmap feature -n {shop} -o name", "configmap/feature\n")
	s.See("role deployer -n {team} -o name", "role.rbac.authorization.k8s.io/deployer\n")
	s.See("sa lake-connect -n {data} -o jsonpath={.metadata.labels.team}", "lake")
	refused := func(line string) {
		s.Eventually(func() string { return s.Run("delete --dry-run=server " + line).Stderr }, story.Patience, "1s").Should(gomega.ContainSubstring("protected"))
	}
	refused("configmap ledger -n {data}")
	refused("secret key -n {data}")
	refused("namespace {data}")
	s.See("rdp {vital} -o jsonpath={.status.matches.total}", "1") // statuses are written from time to time
	for _, p := range running {
		s.Expect(p.Stop()).To(gomega.Succeed())
	}
	s.Expect(os.RemoveAll("testdata/first")).To(gomega.Succeed())
	s.Expect(os.MkdirAll("testdata/first", 0o755)).To(gomega.Succeed())
	for _, kind := range kinds {
		out := e.Kubectl(t, "get", kind, "-A", "-o", "json", "--show-managed-fields")
		s.Expect(out.Code).To(gomega.BeZero(), out.Stderr)
		var list unstructured.UnstructuredList
		s.Expect(json.Unmarshal([]byte(out.Stdout), &list)).To(gomega.Succeed())
		slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
			return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
		})
		var text bytes.Buffer
		for i := range list.Items {
			if o := &list.Items[i]; ours(o) {
				data, err := yaml.Marshal(o)
				s.Expect(err).NotTo(gomega.HaveOccurred())
				text.WriteString("---\n")
				text.Write(data)
			}
		}
		recorded := text.String()
		for _, name := range repositories {
			url, placeholder := place(s, name)
			recorded = strings.ReplaceAll(recorded, url, placeholder)
		}
		s.Expect(recorded).NotTo(gomega.BeEmpty(), kind)
		s.Expect(os.WriteFile(filepath.Join("testdata", "first", kind+".yaml"), []byte(recorded), 0o644)).To(gomega.Succeed())
	}
}

// ours reports whether an object is of the story, and not Kubernetes' own.
func ours(o *unstructured.Unstructured) bool {
	in := func(name string) bool { return strings.HasPrefix(name, prefix+"-") }
	switch {
	case o.GetName() == "kube-root-ca.crt", o.GetKind() == "ServiceAccount" && o.GetName() == "default":
		return false
	case o.GetNamespace() == story.Syncs:
		return strings.Contains(o.GetName(), prefix+"-")
	case o.GetNamespace() != "":
		return in(o.GetNamespace())
	case o.GetKind() == "ClusterRoleBinding":
		return o.GetLabels()["configsync.gke.io/sync-kind"] == "RootSync"
	}
	return in(o.GetName())
}
