// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"maps"
	"slices"
	"strings"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// wrong makes RootSyncs each of which has something wrong, and waits until each says so.
func (l *ledger) wrong() []string {
	const parse = "no object\n"
	both := cm("wa", "one", "1")
	l.syncOf("wa", ns("wa")+both)
	l.commit("wa", "x.yaml", ns("wa")+service("wa")+both)
	l.says("wa", "KNV2009: failed to apply Service")
	l.commit("wb", "x.yaml", both)
	l.sync("wb")
	l.syncOf("wc", ns("wc"))
	l.commit("wc", "x.yaml", parse)
	l.commit("wd", "x.yaml", parse)
	l.sync("wd")
	l.syncOf("we", ns("we"))
	l.commit("we", "kustomization.yaml", "resources: [nothing.yaml]\n")
	l.commit("wf", "x.yaml", ns("wf")+"apiVersion: nobody.example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: \"{wf}\"}\n")
	l.sync("wf")
	l.commit("wg", "x.yaml", cm("nowhere", "one", "1"))
	l.sync("wg", "  override: {namespaceStrategy: explicit}")
	l.syncOf("wh", ns("wh1")+ns("wh2"))
	l.commit("wh", "none.txt", "")
	l.commit("wi", "x.yaml", parse)
	l.from("wi", `git: {repo: "`+l.url("wi")+`", branch: none, auth: none, period: 1s}`)
	l.from("wj", `git: {repo: "`+l.url("wi")+`", auth: token}`)
	late := cm("wa", "late", "1")
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: \"{wa}\"}\nspec: {containers: [{name: c, image: nothing.invalid/c}]}\n---\n"
	l.commit("wk", "x.yaml", pod+with(late, object.AnnotationDependsOn+": /namespaces/{wa}/Pod/p"))
	l.sync("wk", "  override: {reconcileTimeout: 3s}")
	l.syncOf("wl", ns("wl")+l.crd()+l.widget("wl", "one"))
	l.commit("wl", "x.yaml", ns("wl")+l.widget("wl", "one"))
	says := map[string]string{
		"wl": "KNV1047",
		"wa": "KNV2009", "wb": "KNV1060", "wc": "KNV1006", "wd": "KNV1006", "we": "KNV1068", "wf": "KNV1021", "wg": "KNV2009", "wh": "KNV2006", "wi": "KNV2004", "wj": "stalled", "wk": "KNV2009",
	}
	for short, text := range says {
		l.says(short, text)
	}
	return slices.Collect(maps.Keys(says))
}

func service(namespace string) string {
	return strings.ReplaceAll(badService, "{n}", "{"+namespace+"}")
}

// done are writes that have changed something.
func (l *ledger) done() []string {
	return slices.DeleteFunc(l.writes(), func(w string) bool {
		code := w[strings.LastIndex(w, " ")+1:]
		return isDry(w) || strings.HasPrefix(code, "4")
	})
}

// still waits until nothing is changed for a while, and returns how much was until then.
func (l *ledger) still() int {
	l.t.Helper()
	before := -1
	l.Eventually(func() bool {
		now := len(l.done())
		same := now == before
		before = now
		return same
	}, within, "6s").Should(gomega.BeTrue(), "something is written again and again")
	return before
}

// wrongAgain has RootSyncs with errors find them again after a start.
func (l *ledger) wrongAgain() {
	names := l.wrong()
	for _, end := range []func(*manager.Process) error{(*manager.Process).Stop, (*manager.Process).Kill} {
		before := l.still()
		l.Expect(end(l.Sync)).To(gomega.Succeed())
		l.start(leaderless)
		probe := testkit.Env{Manager: l.Sync}
		counted := func(status string) float64 {
			return probe.Metric(l.t, "holdfast_rootsync_syncs", testkit.Label("status", status))
		}
		l.Eventually(func() []float64 { return []float64{counted("failing"), counted("stalled"), counted("syncing")} }, within, often).
			Should(gomega.Equal([]float64{float64(len(names) - 1), 1, 0}))
		l.still()
		if wrote := l.done()[before:]; len(wrote) > 0 {
			l.t.Errorf("%d writes, such as\n%s", len(wrote), strings.Join(wrote[:min(len(wrote), 20)], "\n"))
		}
	}
}
