// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Ways by which somebody who may edit, and not unprotect, could have a protected
// object deleted.

// The garbage collector deletes what a controller owns whose owner does not exist,
// and may, of the kinds that controllers make.
func TestEscape_givingAProtectedObjectAnOwner(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	everything(t, e, "editor-"+ns)
	e.Apply(t, ns, `{apiVersion: batch/v1, kind: Job, metadata: {name: backup}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`)
	protectOne(t, e, ns, "batch/v1", "Job", "backup")
	g.Eventually(label(t, e, v1alpha1.ProtectedByMark, "job", "backup", "-n", ns), "180s", "100ms").Should(gomega.Equal(ns))
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"nothing","uid":"00000000-0000-0000-0000-000000000000","controller":true}]}}`
	g.Expect(refused(t, e, "patch", "job", "backup", "-n", ns, "--type=merge", "-p", owner, "--as=editor-"+ns)).
		To(gomega.ContainSubstring("it would be deleted together with the owner that is added or changed"))
}

// The annotation passes by the webhook, which alone knows whether a namespace is
// used.
func TestEscape_passingByTheLookWhileInUse(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	editor := "editor-" + ns
	everything(t, e, editor)
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	done(t, e, "label", "namespace", ns, strict+"=Cascading")
	g.Expect(refused(t, e, "delete", "namespace", ns, "--as="+editor)).To(gomega.ContainSubstring("pods/p is active"))
	done(t, e, "annotate", "namespace", ns, v1alpha1.DeleteUncheckedAnnotation+"="+ns, "--as="+editor)
	g.Expect(refused(t, e, "delete", "namespace", ns, "--as="+editor)).To(gomega.ContainSubstring("by the label " + strict))
	done(t, e, "delete", "namespace", ns, "--dry-run=server") // an administrator may unprotect
}

// What is stored of a kind is deleted with its definition, served or not.
func TestEscape_aDefinitionThatIsNotServedAnyMore(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	group := ns + ".example.org"
	crd := "relics." + group
	definition := func(served string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + crd + `}, spec: {group: ` + group + `, scope: Namespaced, names: {plural: relics, singular: relic, kind: Relic}, versions: [{name: v1, served: ` + served + `, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
	}
	e.Apply(t, "", definition("true"))
	relic := `{apiVersion: ` + group + `/v1, kind: Relic, metadata: {name: one, labels: {holdfast.dev/deletion-protected: Always}}}`
	g.Eventually(func() string {
		return e.KubectlInput(t, relic, "apply", "-n", ns, "-f", "-").Stderr
	}, "180s", "100ms").Should(gomega.BeEmpty())
	marked := label(t, e, v1alpha1.HoldsProtectedMark, "crd", crd)
	g.Eventually(marked, "180s", "100ms").Should(gomega.Equal("true"))
	e.Apply(t, "", definition("false"))
	g.Consistently(marked, "4s", "200ms").Should(gomega.Equal("true"), "Holdfast took the mark off itself")
	refused(t, e, "delete", "crd", crd)

	e.Apply(t, "", definition("true"))
	g.Eventually(func() int {
		return e.Kubectl(t, "label", "relics."+group, "one", "-n", ns, strict+"-").Code
	}, "180s", "200ms").Should(gomega.BeZero())
	g.Eventually(marked, "180s", "100ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "crd", crd)
}
