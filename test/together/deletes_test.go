// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// What holds something protected is not deleted, however it holds it: the request is
// refused where it is made, names what blocks it, and nothing begins to end.
func TestTogether_1_aDeleteThatCannotFinishNeverStarts(t *testing.T) {
	t.Parallel()
	const blocker = "configmaps/precious"
	for _, tt := range []struct {
		name string
		long bool
		make []string
		// delete is the command, and words what it is answered.
		delete string
		words  []string
		// why is the plugin's question about it.
		why string
		// free lets it go, and gone is what is gone then.
		free string
		gone []string
	}{
		{
			name:   "a namespace",
			make:   []string{ns("a") + protected("a", "precious") + cm("a", "other", "1")},
			delete: "delete namespace {a} --wait=false", words: []string{"namespaces/{a} is not deleted because of what hangs below it", blocker},
			why:  "delete namespace {a}",
			free: "label cm precious -n {a} holdfast.dev/deletion-protected-",
			gone: []string{"ns {a}"},
		},
		{
			name: "a namespace that a RootSync and a protection without a label have to do with", long: true,
			make:   []string{ns("a") + cm("a", "precious", "1"), "apiVersion: holdfast.dev/v1alpha1\nkind: ResourceDeletionProtection\nmetadata: {name: \"{.}\"}\nspec: {reason: the books, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: \"{a}\", name: precious}]}]}\n"},
			delete: "delete namespace {a} --wait=false", words: []string{"namespaces/{a} is not deleted because of what hangs below it", blocker},
			why:  "delete namespace {a}",
			free: "delete resourcedeletionprotection {.}",
			gone: []string{"ns {a}"},
		},
		{
			name:   "a definition",
			make:   []string{crd + ns("a"), thing("a", "precious")},
			delete: "delete crd things.{.}.example.com --wait=false", words: []string{"is not deleted because of what hangs below it", "things.{.}.example.com/precious"},
			why:  "delete crd things.{.}.example.com",
			free: "label things.{.}.example.com precious -n {a} holdfast.dev/deletion-protected-",
			gone: []string{"crd things.{.}.example.com"},
		},
		{
			name: "an owner, in the foreground", long: true,
			make:   []string{ns("a") + cm("a", "owner", "1"), protected("a", "precious")},
			delete: "delete cm owner -n {a} --cascade=foreground --wait=false", words: []string{"configmaps/owner is not deleted because of what hangs below it", blocker},
			why:  "delete cm owner -n {a}",
			free: "label cm precious -n {a} holdfast.dev/deletion-protected-",
			gone: []string{"cm owner -n {a}", "cm precious -n {a}"},
		},
		{
			name:   "an anchor",
			make:   []string{ns("p"), anchor("p", "s"), protected("s", "precious")},
			delete: "delete subns {s} -n {p} --wait=false", words: []string{`the subnamespace "{s}" cannot be deleted`, blocker},
			why:  "delete subns {s} -n {p}",
			free: "label cm precious -n {s} holdfast.dev/deletion-protected-",
			gone: []string{"subns {s} -n {p}", "ns {s}"},
		},
		{
			name: "a subtree, by the anchor at its root", long: true,
			make:   []string{ns("p"), anchor("p", "s"), hierarchy("s", "{allowCascadingDeletion: true}"), anchor("s", "t"), protected("t", "precious")},
			delete: "delete subns {s} -n {p} --wait=false", words: []string{`the subnamespace "{t}" cannot be deleted`, blocker},
			why:  "delete subns {s} -n {p}",
			free: "label cm precious -n {t} holdfast.dev/deletion-protected-",
			gone: []string{"ns {t}", "ns {s}"},
		},
		{
			name:   "a tree, by its root",
			make:   []string{ns("p") + hierarchy("p", "{allowCascadingDeletion: true}"), anchor("p", "s"), protected("s", "precious")},
			delete: "delete namespace {p} --wait=false", words: []string{`the subnamespace "{s}" cannot be deleted`, blocker},
			why:  "delete namespace {p}",
			free: "label cm precious -n {s} holdfast.dev/deletion-protected-",
			gone: []string{"ns {s}", "ns {p}"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			for _, yaml := range tt.make {
				r.Apply(yaml)
			}
			r.own("owner", "precious")
			if tt.name == "a definition" {
				r.done("label things.{.}.example.com precious -n {a} holdfast.dev/deletion-protected=Always")
			}
			r.refused(tt.delete, tt.words...)
			r.answers("why "+tt.why, 3, "the delete would be refused", tt.words[len(tt.words)-1])
			r.Consistently(r.terminating, "2s", "500ms").Should(gomega.BeEmpty())

			r.done(tt.free)
			r.Eventually(func() string { return r.Run(tt.delete).Stderr }, story.Patience, story.Slower).Should(gomega.BeEmpty())
			for _, what := range tt.gone {
				r.gone(what)
			}
		})
	}
}

// own makes one ConfigMap in "a" the owner of another, where both are there.
func (r *rig) own(owner, owned string) {
	r.T.Helper()
	uid := r.Run("get cm " + owner + " -n {a} --ignore-not-found -o jsonpath={.metadata.uid}").Stdout
	if uid == "" {
		return
	}
	out := r.Kubectl(r.T, "patch", "cm", owned, "-n", r.Long("{a}"), "--type=merge",
		"-p", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"`+owner+`","uid":"`+uid+`","blockOwnerDeletion":true}]}}`)
	r.Expect(out.Code).To(gomega.Equal(0), out.Stderr)
}
