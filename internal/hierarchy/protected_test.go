// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A deletion that cannot finish does not begin: an anchor stays while something in
// the subtree that would go with it is protected, and the answer says what.
func TestProtected_anAnchorStaysWhileItsSubtreeHoldsSomethingProtected(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.patch(r.Client, "ns", "a", `{}`)
	r.patch(r.Client, "anchor", "a/s", `{}`)
	r.see("field hc s spec.parent", "a") // it is made with that
	r.patch(r.Client, "hc", "s", `{"spec":{"allowCascadingDeletion":true}}`)
	r.patch(r.Client, "anchor", "s/below", `{}`)
	r.Eventually(r.there("ns", "below"), patience, often).Should(gomega.BeTrue())
	r.Apply(t, r.name("below"), `{apiVersion: v1, kind: ConfigMap, metadata: {name: precious, labels: {holdfast.dev/deletion-protected: Always}}}`)

	gone := func() string {
		return r.Kubectl(t, "delete", "subns", r.name("s"), "-n", r.name("a"), "--wait=false").Stderr
	}
	r.Eventually(func() string { return r.refusal("anchor", "a/s") }, patience, often).Should(gomega.And(gomega.ContainSubstring(`the subnamespace "`+r.name("below")+`" cannot be deleted`), gomega.ContainSubstring("configmaps/precious")))
	r.patch(r.Client, "hc", "a", `{"spec":{"allowCascadingDeletion":true}}`)
	r.Eventually(func() string { return r.refusal("ns", "a") }, patience, often).Should(gomega.ContainSubstring("configmaps/precious"), "the namespace above all of them")
	if said := gone(); said == "" {
		t.Fatal("the anchor was deleted")
	}
	r.Consistently(r.there("ns", "below"), "2s", "200ms").Should(gomega.BeTrue())

	r.Kubectl(t, "label", "configmap", "precious", "-n", r.name("below"), "holdfast.dev/deletion-protected-")
	r.Eventually(func() string { return r.refusal("anchor", "a/s") }, patience, often).Should(gomega.BeEmpty())
	r.Eventually(gone, patience, often).Should(gomega.BeEmpty())
	r.Eventually(r.there("ns", "below"), patience, often).Should(gomega.BeFalse())
	r.Eventually(r.there("ns", "s"), patience, often).Should(gomega.BeFalse())
}

// refusal is why an object could not be deleted now, and empty if it could.
func (r *rig) refusal(kind, at string) string {
	r.t.Helper()
	if err := r.Client.Delete(r.t.Context(), r.object(kind, at), client.DryRunAll); err != nil {
		return err.Error()
	}
	return ""
}

// there says whether an object is.
func (r *rig) there(kind, at string) func() bool {
	return func() bool { return r.get(kind, at) != nil }
}
