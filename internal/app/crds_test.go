// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	// fields of a CustomResourceDefinition that say how it stands.
	versionsServed = `jsonpath={range .spec.versions[?(@.served==true)]}{.name} {end}`
	writtenBy      = `jsonpath={.metadata.annotations.holdfast\.dev/written-by-version}`
	fieldManagers  = `jsonpath={.metadata.managedFields[*].manager}`
)

// foreign is a CustomResourceDefinition of another project, with one version and no
// schema to speak of.
func foreign(group, plural, kind, version, metadata string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + plural + `.` + group + metadata + `},
		spec: {group: ` + group + `, scope: Namespaced, names: {kind: ` + kind + `, plural: ` + plural + `, singular: ` + strings.ToLower(kind) + `, listKind: ` + kind + `List},
			versions: [{name: ` + version + `, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
}

func TestCRDs_areTheManagersToApply(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	g := gomega.NewWithT(t)
	crd := func(name, output string) string {
		return strings.TrimSpace(e.Kubectl(t, "get", "crd", name, "-o", output, "--ignore-not-found").Stdout)
	}
	for _, path := range []string{"namespaces/holdfast-system.yaml", "install", "rbac/hierarchy.yaml"} {
		if out := e.Kubectl(t, "apply", "--server-side", "-f", "../../config/"+path); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
	}
	// What HNC left, with an object that is stored in a version that Holdfast does not have, and
	// what a later Holdfast has written.
	e.Apply(t, "", foreign("hnc.x-k8s.io", "subnamespaceanchors", "SubnamespaceAnchor", "v1alpha1", ""))
	g.Eventually(func() int {
		return e.KubectlInput(t, `{apiVersion: hnc.x-k8s.io/v1alpha1, kind: SubnamespaceAnchor, metadata: {name: old, namespace: default}}`, "apply", "-f", "-").Code
	}, "180s", "200ms").Should(gomega.BeZero())
	e.Apply(t, "", foreign("hnc.x-k8s.io", "hierarchyconfigurations", "HierarchyConfiguration", "v1alpha2", `, annotations: {holdfast.dev/written-by-version: 99.0.0}`))

	e.Manager = e.StartManager(t)

	for _, name := range []string{"holdfasts", "resourcedeletionprotections", "deletionoverrides", "evictionpolicies", "serviceaccounttemplates"} {
		if crd(name+".holdfast.dev", writtenBy) == "" || crd(name+".holdfast.dev", fieldManagers) != "holdfast-crds kube-apiserver" && crd(name+".holdfast.dev", fieldManagers) != "holdfast-crds" {
			t.Errorf("%s: written by %q, under %q", name, crd(name+".holdfast.dev", writtenBy), crd(name+".holdfast.dev", fieldManagers))
		}
	}
	if got := crd("hncconfigurations.hnc.x-k8s.io", "name"); got != "" {
		t.Errorf("there is %s of a feature that is off", got)
	}

	configureWith(t, e, "hierarchy: {mode: Enforce, standBy: true}")
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "holdfast", "holdfast", "-o", "jsonpath={.status.configuration}").Stdout
	}, "180s", "200ms").Should(gomega.ContainSubstring("standBy: true"))
	if got := crd("subnamespaceanchors.hnc.x-k8s.io", versionsServed); got != "v1alpha1" {
		t.Errorf("while Holdfast stands by, what is HNC's serves %q", got)
	}

	configureWith(t, e, "hierarchy: {mode: Enforce}")
	g.Eventually(func() string { return crd("hncconfigurations.hnc.x-k8s.io", versionsServed) }, "180s", "200ms").Should(gomega.Equal("v1alpha2"))
	g.Eventually(func() string { return crd("subnamespaceanchors.hnc.x-k8s.io", versionsServed) }, "180s", "200ms").Should(gomega.Equal("v1alpha2"))
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "subnamespaceanchors.v1alpha2.hnc.x-k8s.io", "-n", "default", "-o", "name").Stdout
	}, "180s", "200ms").Should(gomega.ContainSubstring("/old"), "the object that was there is lost")
	if got := crd("hierarchyconfigurations.hnc.x-k8s.io", `jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties}`); got != "" {
		t.Errorf("what a later release has written was made older: %s", got)
	}

	// Who applies them by hand still can, and nothing is written twice.
	if out := e.Kubectl(t, "apply", "--server-side", "-f", "../../config/crd"); out.Code != 0 {
		t.Errorf("kubectl apply: %s", out.Stderr)
	}
	before := crd("holdfasts.holdfast.dev", `jsonpath={.metadata.generation}`)
	if err := e.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	e.Manager = e.StartManager(t)
	if after := crd("holdfasts.holdfast.dev", `jsonpath={.metadata.generation}`); after != before {
		t.Errorf("generation %s has become %s by a restart", before, after)
	}
}

// configureWith replaces the configuration.
func configureWith(t testing.TB, e *testkit.Env, text string) {
	t.Helper()
	e.Apply(t, "holdfast-system", "{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast}, data: {config.yaml: \"{apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration, "+text+"}\"}}")
}
