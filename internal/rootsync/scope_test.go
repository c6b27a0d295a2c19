// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/gomega"
)

// bounded has the scope of the configuration bound what RootSyncs write, and change while
// the sync runs.
func (l *ledger) bounded() {
	file := filepath.Join(l.t.TempDir(), "config.yaml")
	scope := func(scope string) {
		l.t.Helper()
		text := "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nrootSync: {allowFileSources: true}\nscope: {" + l.long(scope) + "}\n"
		l.Expect(os.WriteFile(file+".new", []byte(text), 0o600)).To(gomega.Succeed())
		l.Expect(os.Rename(file+".new", file)).To(gomega.Succeed())
	}
	const without = `namespaces: ["!{sout}"]`
	outside := func(at string) string {
		return l.long("KNV2009: skipped apply of " + at + ": the namespace {sout} is not in the scope of Holdfast's configuration, so it is left as it is")
	}
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	scope(without)
	l.start(leaderless, "--config", file)

	l.t.Log("what is out of scope is not made, and does not hold up the rest")
	l.commit("sa", "x.yaml", cm("sin", "one", "1")+cm("sout", "one", "1"))
	l.sync("sa")
	both := outside("ConfigMap, {sout}/one") + " | " + outside("Namespace, /{sout}")
	l.Eventually(func() string { return l.status("sa") }, within, often).Should(gomega.Equal(both))
	l.value("sin/one", "1")
	l.Expect(l.object("ns", "sout")).To(gomega.BeNil())

	l.t.Log("a scope that grows takes it in")
	scope("")
	l.value("sout/one", "1")
	l.synced("sa", l.commit("sa", "x.yaml", cm("sin", "one", "2")+cm("sout", "one", "2")+cm("sout", "two", "2")))

	l.t.Log("a scope that shrinks leaves everything as it is")
	scope(without)
	l.Eventually(func() string { return l.status("sa") }, within, often).Should(gomega.ContainSubstring(outside("ConfigMap, {sout}/two")))
	l.calm()
	before := len(l.writes())
	l.patch("cm", "sout/one", `{"data":{"v":"by hand"}}`)
	l.commit("sa", "x.yaml", cm("sin", "one", "3")+cm("sout", "one", "3"))
	l.value("sin/one", "3")
	l.says("sa", "KNV2009: skipped delete of ConfigMap, {sout}/two: the namespace {sout} is not in the scope of Holdfast's configuration")
	l.calm()
	l.value("sout/one", "by hand")
	l.manager("cm", "sout/two", "sa")
	l.Expect(slices.DeleteFunc(l.writes()[before:], func(write string) bool {
		return !strings.Contains(write, l.name("sout"))
	})).To(gomega.BeEmpty())

	l.t.Log("labels can decide")
	scope("namespaceSelector: {matchLabels: {team: shop}}")
	l.says("sa", "the namespace {sin} is not in the scope")
	l.patch("ns", "sout", `{"metadata":{"labels":{"team":"shop"}}}`)
	l.value("sout/one", "3")
	l.manager("cm", "sout/two", "-")
	l.patch("ns", "sin", `{"metadata":{"labels":{"team":"shop"}}}`)
	l.Eventually(func() string { return l.status("sa") }, within, often).Should(gomega.HavePrefix("synced "))
	scope(without)

	l.t.Log("who goes waits for what it may not delete, and may let go of it")
	l.says("sa", "the namespace {sout} is not in the scope")
	l.annotate("sa", "configsync.gke.io/deletion-propagation-policy=Foreground")
	l.Expect(l.Client.Delete(l.t.Context(), l.rootSync("sa"))).To(gomega.Succeed())
	l.manager("cm", "sin/one", "-")
	l.failing("sa", "skipped delete of ConfigMap, {sout}/one: the namespace {sout} is not in the scope")
	l.annotate("sa", "configsync.gke.io/deletion-propagation-policy=Orphan")
	l.gone("sa")
	l.manager("cm", "sout/one", "sa")
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	l.delete("ns", "sout")
}
