// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// A committer to the source of a RootSync that may edit a namespace takes an object there out of a protection, or has it
// pruned. The rest of the commit is applied.
func TestMeet_rootSyncsAndProtections(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.Apply(selecting("{rdp}", "{shop}", configMaps))
	t.Cleanup(func() { r.as("", "delete rdp {rdp}", "") })
	const selected = "cm selected -n {shop}"
	r.Synced("x", r.Commit("x", kept(configMaps, "selected", "{shop}", "")+cm("{shop}", "one"), edits("{shop}")))
	r.marked(v1alpha1.ProtectedByMark, "{rdp}", selected)
	before := r.state(selected)

	// 29: another label.
	r.Commit("x", replaced(kept(configMaps, "selected", "{shop}", ""), "app: kept", "app: gone")+cm("{shop}", "two"), edits("{shop}"))
	r.Says("x", "by labels, of which this update changes app")
	r.See("cm two -n {shop} -o name", "configmap/two\n")
	r.same(selected, before)
	// 30: its controller, so that a service account with rights on that could delete it.
	r.Commit("x", `{apiVersion: v1, kind: ConfigMap, metadata: {name: selected, namespace: "{shop}", labels: {app: kept}, ownerReferences: [{apiVersion: x.example.org/v1, kind: X, name: x, uid: x, controller: true}]}}`, edits("{shop}"))
	r.Says("x", "must not declare the field metadata.ownerReferences")
	r.same(selected, before)
	// 31: it is not declared any more.
	commit := r.Commit("x", cm("{shop}", "four"), edits("{shop}"))
	r.Says("x", "is protected from deletion by ResourceDeletionProtection {rdp}")
	r.See("cm two -n {shop} -o name", "")
	r.same(selected, before)
	r.as("", "delete rdp {rdp}", "")
	r.Synced("x", commit)
	r.See(selected+" -o name", "")
}

// A tenant has Holdfast change a managed label by which a protection selects the tenant's subnamespace. What the parent
// has of security reaches the subnamespace all the same.
func TestMeet_managedLabelsAndSelectors(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	const tier = "{.}.kubernetes.io/tier"
	anchor := func(value string) string {
		return `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{child}", namespace: "{shop}"}, spec: {labels: [{key: "` + tier + `", value: ` + value + `}]}}`
	}
	r.Apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{tier}"}, spec: {protectedResources: [
  {resourceSelector: [{apiVersion: v1, kind: Namespace, labelSelector: {matchLabels: {"` + tier + `": kept}}}]}]}}`)
	t.Cleanup(func() { r.as("", "delete rdp {tier}", "") })
	r.ApplyAs("{nsadmin}", anchor("kept"))
	r.marked(v1alpha1.ProtectedByMark, "{tier}", "ns {child}")
	before := r.state("ns {child}")

	// 32: another value. 33: the security of the parent, which follows in spite of it.
	r.ApplyAs("{nsadmin}", anchor("gone"))
	r.does("", "label ns {shop} "+enforce+"=restricted")
	r.enforces("{child}", "restricted")
	r.Eventually(func() string { return r.Manager.LogTail() }, story.Patience, story.Often).Should(gomega.ContainSubstring("by labels, of which this update changes"))
	if after := r.state("ns {child}"); after.Labels[r.Long(tier)] != "kept" || after.Labels[v1alpha1.ProtectedByMark] != before.Labels[v1alpha1.ProtectedByMark] {
		t.Errorf("got %v", after.Labels)
	}
	// 34: the anchor deleted, with which the subnamespace would go.
	r.denied("is protected from deletion by ResourceDeletionProtection {tier}", "{nsadmin}", "delete subns {child} -n {shop}")
	r.refusesPrivilegedPods()
}
