// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func (r *rig) strategy(short, strategy string) {
	r.t.Helper()
	body := fmt.Sprintf(`{"spec":{"override":{"namespaceStrategy":%q}}}`, strategy)
	r.Expect(r.Client.Patch(r.t.Context(), r.rootSync(short), client.RawPatch(types.MergePatchType, []byte(body)))).To(gomega.Succeed())
}

// detached says whether a namespace stays when nobody needs it any more.
func (r *rig) detached(name string) bool {
	return r.object("ns", name).GetAnnotations()[object.AnnotationDeletion] == object.DeletionDetach
}

// The steps of Config Sync's own test of the strategy.
func TestStrategy_asInConfigSync(t *testing.T) {
	t.Parallel()
	r := shared(t)
	commit := r.commit("a", "cm.yaml", cm("n", "one", "1"))
	r.sync("a", "  override: {namespaceStrategy: explicit}")
	r.says("a", `KNV2009: failed to apply ConfigMap, {n}/one: namespaces "{n}" not found`)

	r.strategy("a", "implicit")
	r.synced("a", commit)
	r.manager("ns", "n", "a")
	r.Expect(r.detached("n")).To(gomega.BeTrue())

	r.strategy("a", "explicit")
	r.manager("ns", "n", "")
	r.Expect(r.detached("n")).To(gomega.BeTrue())
	r.manager("cm", "n/one", "a")

	commit = r.commit("a", "cm.yaml", cm("n", "one", "1"), "ns.yaml", ns("n"))
	r.synced("a", commit)
	r.manager("ns", "n", "a")
	r.Expect(r.detached("n")).To(gomega.BeFalse())

	r.commit("a", "cm.yaml", cm("n", "one", "1"))
	r.says("a", `KNV2009: skipped delete of Namespace, /{n}: namespace still in use: {n}`)

	r.commit("a", "none.txt", "")
	r.manager("cm", "n/one", "-")
	r.manager("ns", "n", "-")
}

// explicit makes a RootSync with the seed's annotation.
func (r *rig) explicit(short string) {
	r.t.Helper()
	text := r.rootSyncText(short, fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: 1s}", r.repo(short).URL()))
	r.Apply(r.t, object.SyncNamespace, strings.Replace(text, "\nspec:", "\n  annotations: {configsync.gke.io/namespace-strategy: explicit}\nspec:", 1))
}

// The rows of the seed's table, with the strategy by the seed's annotation.
func TestStrategy_theSeedsTable(t *testing.T) {
	t.Parallel()
	r := shared(t)
	one := r.commit("a", "x.yaml", ns("one")+cm("one", "of-a", "1"))
	r.explicit("a")
	r.synced("a", one)
	r.manager("ns", "one", "a")

	r.commit("b", "x.yaml", cm("two", "of-b", "1"))
	r.explicit("b")
	r.says("b", `namespaces "{two}" not found`)

	// Declared by both: the older has it, the younger is told, and applies the rest.
	r.commit("c", "x.yaml", ns("one")+cm("one", "of-c", "1"))
	r.explicit("c")
	r.says("c", `KNV1060: The ":root_{c}" reconciler detected a management conflict with the ":root_{a}" reconciler.`)
	r.manager("ns", "one", "a")
	r.manager("cm", "one/of-c", "c")

	// The remedy of the seed: one of them declares it no longer.
	remedy := r.commit("c", "x.yaml", cm("one", "of-c", "1"))
	r.synced("c", remedy)
	r.manager("ns", "one", "a")
	r.synced("a", one)
}

func TestStrategy_anImplicitNamespaceIsLetGoWhenNobodyNeedsIt(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", cm("n", "one", "1"))
	r.manager("ns", "n", "a")
	commit := r.commit("a", "none.txt", "")
	r.synced("a", commit)
	r.manager("cm", "n/one", "-")
	r.manager("ns", "n", "")
	r.Expect(r.detached("n")).To(gomega.BeTrue())
}

func TestStrategy_aNamespaceThatWasThereIsUsedAndLeftAlone(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(t, "", r.long(ns("n")))
	version := r.object("ns", "n").GetResourceVersion()
	r.syncOf("a", cm("n", "one", "1"))
	r.Expect(r.object("ns", "n").GetResourceVersion()).To(gomega.Equal(version))
	r.syncOf("b", ns("n"))
	r.manager("ns", "n", "b")
	r.commit("b", "none.txt", "")
	r.says("b", "namespace still in use: {n}, by RootSync {a}")
	r.manager("cm", "n/one", "a")
	r.annotate("a", foreground)
	r.deleted("a")
	r.manager("ns", "n", "-")
}
