// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
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

// Many namespaces that nobody declares are let go of together: that empties no source,
// whoever has seen the strategy change.
func TestStrategy_lettingGoOfManyEmptiesNoSource(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		long   bool
		change func(*rig)
	}{
		{"while it is synced", false, func(r *rig) { r.strategy("a", "explicit") }},
		{"while it is suspended, which forgets what was declared, as a restart does", true, func(r *rig) {
			r.annotate("a", "holdfast.dev/suspend=true")
			r.Eventually(func() bool {
				return slices.ContainsFunc(r.rootSync("a").Status.Conditions, func(c configsyncv1beta1.Condition) bool { return c.Type == "Suspended" && c.Status == "True" })
			}, within, often).Should(gomega.BeTrue())
			r.strategy("a", "explicit")
			r.annotate("a", "holdfast.dev/suspend-")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			commit := r.commit("a", "cm.yaml", cm("n", "one", "1")+cm("m", "one", "1"))
			r.sync("a", "")
			r.synced("a", commit)
			r.manager("ns", "n", "a")
			tt.change(r)
			for _, name := range []string{"n", "m"} {
				r.manager("ns", name, "")
				r.manager("cm", name+"/one", "a")
			}
			r.synced("a", commit)
		})
	}
}

// explicit makes a RootSync with the seed's annotation.
func (r *rig) explicit(short string) {
	r.t.Helper()
	text := r.rootSyncText(short, fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: 1s}", r.url(short)))
	r.Apply(r.t, object.SyncNamespace, strings.Replace(text, "\nspec:", "\n  annotations: {configsync.gke.io/namespace-strategy: explicit}\nspec:", 1))
}

// The rows of the seed's table, with the strategy by the seed's annotation. The RootSync that
// they are about is "a"; "o" is what manages the namespace elsewhere.
func TestStrategy_theSeedsTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		long bool
		run  func(*rig)
	}{
		{"declared, and not managed elsewhere: made and owned, with what is in it", true, func(r *rig) {
			commit := r.commit("a", "x.yaml", ns("n")+cm("n", "of-a", "1"))
			r.explicit("a")
			r.synced("a", commit)
			r.manager("ns", "n", "a")
			r.manager("cm", "n/of-a", "a")
		}},
		{"not declared, and not managed elsewhere: what is in it fails until it is made elsewhere", false, func(r *rig) {
			commit := r.commit("a", "x.yaml", cm("n", "of-a", "1"))
			r.explicit("a")
			r.says("a", `KNV2009: failed to apply ConfigMap, {n}/of-a: namespaces "{n}" not found`)
			r.manager("ns", "n", "-")
			made := r.commit("o", "x.yaml", ns("n"))
			r.explicit("o")
			r.synced("o", made)
			r.synced("a", commit)
			r.manager("ns", "n", "o")
			r.manager("cm", "n/of-a", "a")
		}},
		{"not declared, and managed elsewhere: what is in it is applied", true, func(r *rig) {
			made := r.commit("o", "x.yaml", ns("n"))
			r.explicit("o")
			r.synced("o", made)
			version := r.object("ns", "n").GetResourceVersion()
			commit := r.commit("a", "x.yaml", cm("n", "of-a", "1"))
			r.explicit("a")
			r.synced("a", commit)
			r.manager("ns", "n", "o")
			r.Expect(r.object("ns", "n").GetResourceVersion()).To(gomega.Equal(version))
		}},
		{"declared, and managed elsewhere: both are told, and no fight; resolved by taking it out of all but one", true, func(r *rig) {
			one := r.commit("o", "x.yaml", ns("n")+cm("n", "of-o", "1"))
			r.explicit("o")
			r.synced("o", one)
			version := r.object("ns", "n").GetResourceVersion()
			r.commit("q", "x.yaml", ns("n")+cm("n", "of-q", "1"))
			r.explicit("q")
			r.manager("cm", "n/of-q", "q")
			r.contested("n", "o", "q")
			r.synced("o", one)
			r.Expect(r.object("ns", "n").GetAnnotations()).To(gomega.HaveKeyWithValue(object.AnnotationManager, object.Sync(r.name("o")).Manager()))
			r.Expect(r.object("ns", "n").GetResourceVersion()).NotTo(gomega.Equal(version), "the claims of both are on it")
			version = r.object("ns", "n").GetResourceVersion()
			r.delete("cm", "n/of-q")
			r.manager("cm", "n/of-q", "q")
			r.Expect(r.object("ns", "n").GetResourceVersion()).To(gomega.Equal(version))

			r.synced("q", r.commit("q", "x.yaml", cm("n", "of-q", "1")))
			r.uncontested("o", "q")
			r.manager("ns", "n", "o")
			r.synced("o", one)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long {
				testkit.Long(t)
			}
			t.Parallel()
			tt.run(shared(t))
		})
	}
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
