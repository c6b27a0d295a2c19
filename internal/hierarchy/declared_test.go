// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

// declaring is a rig with a RootSync of its own, of the name of its prefix.
type declaring struct {
	*rig
	repo *gitserver.Repo
}

func declares(t *testing.T) *declaring {
	t.Helper()
	testkit.SharedSync(t)
	d := &declaring{shared(t), gitserver.Start(t, gitserver.Options{}).Repo(t, "a")}
	d.commit()
	d.Apply(t, "config-management-system", fmt.Sprintf(`
apiVersion: configsync.gke.io/v1beta1
kind: RootSync
metadata: {name: %s, namespace: config-management-system}
spec:
  sourceFormat: unstructured
  git: {repo: %q, branch: main, auth: none, period: 1s}
  override: {namespaceStrategy: explicit}
`, d.prefix, d.repo.URL()))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the RootSync says %s; the log of the sync ends:\n%s", d.says(), d.Sync.LogTail())
		}
		if err := d.Client.Delete(context.WithoutCancel(t.Context()), d.rootSync()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// commit commits the parts of the tree that are named, and the parent always.
func (d *declaring) commit(parts ...string) string {
	d.t.Helper()
	all := map[string]string{
		"parent": "{apiVersion: v1, kind: Namespace, metadata: {name: PARENT}}",
		"anchor": "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: SUB, namespace: PARENT}, spec: {labels: [{key: team.example.com/of, value: git}]}}",
		"config": "{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: SUB}, data: {v: '1'}}",
	}
	text, names := "", strings.NewReplacer("PARENT", d.name("p"), "SUB", d.name("s"))
	for _, part := range append(parts, "parent") {
		text += names.Replace(all[part]) + "\n---\n"
	}
	return d.repo.Commit(d.t, map[string]string{"x.yaml": text})
}

func (d *declaring) rootSync() *configsyncv1beta1.RootSync {
	d.t.Helper()
	rs := &configsyncv1beta1.RootSync{}
	if err := d.Client.Get(context.WithoutCancel(d.t.Context()), client.ObjectKey{Namespace: "config-management-system", Name: d.prefix}, rs); err != nil {
		d.t.Fatal(err)
	}
	return rs
}

// says is the errors of the RootSync or, if it has none, the commit that is synced.
func (d *declaring) says() string {
	rs := d.rootSync()
	text := ""
	for _, e := range append(rs.Status.Source.Errors, rs.Status.Sync.Errors...) {
		text += e.ErrorMessage + "\n"
	}
	if text != "" {
		return text
	}
	return "synced " + rs.Status.LastSyncedCommit
}

func (d *declaring) synced(commit string) {
	d.t.Helper()
	d.Eventually(d.says, patience, often).Should(gomega.Equal("synced " + commit))
}

// complains waits until the RootSync has an error.
func (d *declaring) complains(text string) {
	d.t.Helper()
	d.Eventually(d.says, patience, often).Should(gomega.ContainSubstring(text))
}

// An anchor in Git makes a subnamespace in which the same RootSync has objects, comes back
// with it where a hand deletes it, and takes it away when Git has it no longer.
func TestDeclared_anAnchorInGit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := declares(t)
	d.synced(d.commit("anchor", "config"))
	d.see("anchor p/s", "Ok")
	d.see("annotation ns s hnc.x-k8s.io/subnamespace-of", "p")
	d.see("labels s", "p=1 s=0")
	d.Expect(d.there("cm", "s/config")()).To(gomega.BeTrue())
	anchor := d.get("anchor", "p/s")
	d.Expect(anchor.GetAnnotations()).To(gomega.HaveKeyWithValue("configsync.gke.io/manager", ":root_"+d.prefix))
	d.Expect(d.get("ns", "s").GetAnnotations()).NotTo(gomega.HaveKey("configsync.gke.io/manager"), "the subnamespace is the anchor's")

	// What the hierarchy writes on the anchor is no drift.
	version := anchor.GetResourceVersion()
	commit := d.commit("config", "anchor")
	d.synced(commit)
	d.Expect(d.get("anchor", "p/s").GetResourceVersion()).To(gomega.Equal(version))

	// A hand deletes it.
	uid := d.get("ns", "s").GetUID()
	d.deleted(d.Client, "anchor", "p/s")
	d.Eventually(func() bool {
		o := d.get("ns", "s")
		return o != nil && o.GetUID() != uid && d.there("cm", "s/config")()
	}, patience, often).Should(gomega.BeTrue())
	d.synced(commit)
	d.see("anchor p/s", "Ok")

	// Git has it no longer: what Git has in it waits, and says for what.
	d.commit("config")
	d.Eventually(d.there("ns", "s"), patience, often).Should(gomega.BeFalse())
	d.complains(fmt.Sprintf("namespaces %q not found", d.name("s")))
	d.Eventually(d.there("anchor", "p/s"), patience, often).Should(gomega.BeFalse()) // it goes after its namespace
	d.synced(d.commit("anchor", "config"))
	d.synced(d.commit())
	d.Eventually(d.there("ns", "s"), patience, often).Should(gomega.BeFalse())
}

// What is protected in a subnamespace keeps its anchor, though Git has it no longer, and
// the RootSync says what.
func TestDeclared_anAnchorThatMustNotGo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := declares(t)
	d.synced(d.commit("anchor"))
	d.see("anchor p/s", "Ok")
	d.Apply(t, d.name("s"), `{apiVersion: v1, kind: ConfigMap, metadata: {name: precious, labels: {holdfast.dev/deletion-protected: Always}}}`)
	d.Eventually(func() string { return d.refusal("anchor", "p/s") }, patience, often).Should(gomega.ContainSubstring("configmaps/precious"))
	none := d.commit()
	d.complains("KNV2009: failed to prune SubnamespaceAnchor.hnc.x-k8s.io, " + d.name("p") + "/" + d.name("s"))
	d.complains("configmaps/precious")
	d.Expect(d.there("ns", "s")()).To(gomega.BeTrue())
	d.Kubectl(t, "label", "configmap", "precious", "-n", d.name("s"), "holdfast.dev/deletion-protected-")
	d.Kubectl(t, "label", "subns", d.name("s"), "-n", d.name("p"), "look=again")
	d.synced(none)
	d.Eventually(d.there("ns", "s"), patience, often).Should(gomega.BeFalse())
}
