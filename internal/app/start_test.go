// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"net"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
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

// From a cluster that has none of it: what a manager says that cannot start, and what one brings that can,
// while it is reached by a Service as in production.
func TestStart_fromNothing(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	g := gomega.NewWithT(t)
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

	t.Run("a manager says what is missing", func(t *testing.T) { saysWhatIsMissing(t, e) })
	t.Run("a second Holdfast is refused", func(t *testing.T) { refusesASecondHoldfast(t, e) })

	args := byService(t, e)
	e.Manager = e.StartManager(t, args...)
	t.Run("the webhooks are reached by the Service", func(t *testing.T) { webhooksAreReached(t, e) })
	t.Run("CustomResourceDefinitions are the manager's to apply", func(t *testing.T) { crdsAreApplied(t, e) })

	// Who applies them by hand still can, and nothing is written twice.
	if out := e.Kubectl(t, "apply", "--server-side", "-f", "../../config/crd"); out.Code != 0 {
		t.Errorf("kubectl apply: %s", out.Stderr)
	}
	before := crd(t, e, "holdfasts.holdfast.dev", `jsonpath={.metadata.generation}`)
	if err := e.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	e.Manager = e.StartManager(t, args...)
	if after := crd(t, e, "holdfasts.holdfast.dev", `jsonpath={.metadata.generation}`); after != before {
		t.Errorf("generation %s has become %s by a restart", before, after)
	}
	webhooksAreReached(t, e)
	t.Run("certificates rotate without a failed call", func(t *testing.T) { certificatesRotate(t, e) })
}

// crd is what kubectl prints of a CustomResourceDefinition; empty where there is none.
func crd(t testing.TB, e *testkit.Env, name, output string) string {
	t.Helper()
	return strings.TrimSpace(e.Kubectl(t, "get", "crd", name, "-o", output, "--ignore-not-found").Stdout)
}

func saysWhatIsMissing(t *testing.T, e *testkit.Env) {
	tests := []struct {
		name, want string
		args       []string
	}{
		{name: "no such ConfigMap", args: []string{"--config-map", "holdfest"}, want: "config/install/configuration.yaml"},
		{name: "no such file", args: []string{"--config-map", "", "--config", "/no/such/file"}, want: "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mustEnd(t, e, tt.want, tt.args...)
		})
	}
}

// mustEnd starts a manager that ends, and says why.
func mustEnd(t *testing.T, e *testkit.Env, want string, args ...string) {
	t.Helper()
	p := e.StartManagerNotReady(t, args...)
	gomega.NewWithT(t).Eventually(p.Done(), "180s").Should(gomega.BeClosed(), "it does not end")
	if !strings.Contains(p.LogTail(), want) {
		t.Errorf("its last words are\n%s\nwant %q", p.LogTail(), want)
	}
}

func refusesASecondHoldfast(t *testing.T, e *testkit.Env) {
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: holdfast-guard},
		webhooks: [{name: eviction.holdfast.dev, admissionReviewVersions: [v1], sideEffects: NoneOnDryRun, failurePolicy: Ignore,
			clientConfig: {service: {namespace: elsewhere, name: holdfast-guard}}, rules: []}]}`)
	mustEnd(t, e, "another Holdfast is installed, in namespace elsewhere")
	if out := e.Kubectl(t, "delete", "validatingwebhookconfiguration", "holdfast-guard"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

// byService returns the arguments of a manager that the API server reaches as in a cluster: by a Service,
// under whose name the certificate must be. Here the Service stands for this machine.
func byService(t *testing.T, e *testkit.Env) []string {
	t.Helper()
	address := loopback.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	e.Apply(t, "holdfast-system", `{apiVersion: v1, kind: Service, metadata: {name: holdfast-guard}, spec: {type: ExternalName, externalName: localhost, ports: [{port: `+port+`}]}}`)
	return []string{"--webhook-url", "", "--webhook-bind-address", address, "--webhook-service-port", port}
}

func webhooksAreReached(t *testing.T, e *testkit.Env) {
	gomega.NewWithT(t).Eventually(func() string {
		return e.KubectlInput(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast}, data: {config.yaml: "no: configuration"}}`,
			"apply", "--server-side", "--force-conflicts", "--dry-run=server", "-n", "holdfast-system", "-f", "-").Stderr
	}, "180s", "200ms").Should(gomega.ContainSubstring("data[config.yaml].apiVersion"), "the webhook is not called")
}

func crdsAreApplied(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	for _, name := range []string{"holdfasts", "resourcedeletionprotections", "deletionoverrides", "evictionpolicies", "serviceaccounttemplates"} {
		if crd(t, e, name+".holdfast.dev", writtenBy) == "" || crd(t, e, name+".holdfast.dev", fieldManagers) != "holdfast-crds kube-apiserver" && crd(t, e, name+".holdfast.dev", fieldManagers) != "holdfast-crds" {
			t.Errorf("%s: written by %q, under %q", name, crd(t, e, name+".holdfast.dev", writtenBy), crd(t, e, name+".holdfast.dev", fieldManagers))
		}
	}
	if got := crd(t, e, "hncconfigurations.hnc.x-k8s.io", "name"); got != "" {
		t.Errorf("there is %s of a feature that is off", got)
	}

	configureWith(t, e, "hierarchy: {mode: Enforce, standBy: true}")
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "holdfast", "holdfast", "-o", "jsonpath={.status.configuration}").Stdout
	}, "180s", "200ms").Should(gomega.ContainSubstring("standBy: true"))
	if got := crd(t, e, "subnamespaceanchors.hnc.x-k8s.io", versionsServed); got != "v1alpha1" {
		t.Errorf("while Holdfast stands by, what is HNC's serves %q", got)
	}

	configureWith(t, e, "hierarchy: {mode: Enforce}")
	g.Eventually(func() string { return crd(t, e, "hncconfigurations.hnc.x-k8s.io", versionsServed) }, "180s", "200ms").Should(gomega.Equal("v1alpha2"))
	g.Eventually(func() string { return crd(t, e, "subnamespaceanchors.hnc.x-k8s.io", versionsServed) }, "180s", "200ms").Should(gomega.Equal("v1alpha2"))
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "subnamespaceanchors.v1alpha2.hnc.x-k8s.io", "-n", "default", "-o", "name").Stdout
	}, "180s", "200ms").Should(gomega.ContainSubstring("/old"), "the object that was there is lost")
	if got := crd(t, e, "hierarchyconfigurations.hnc.x-k8s.io", `jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties}`); got != "" {
		t.Errorf("what a later release has written was made older: %s", got)
	}
}

// While the serving certificate and its authority are replaced, again and again in a long test, every call
// reaches the webhook: it alone refuses this configuration, and it fails open, so that a call that failed
// would show as a write that passes.
func certificatesRotate(t *testing.T, e *testkit.Env) {
	authorities, certificates := 2.0, 3.0
	if testing.Short() {
		authorities, certificates = 1, 1
	}
	const short = "certificates: {validity: 60s, authorityValidity: 75s, overlap: 5s}"
	configureWith(t, e, short)
	bad := &corev1.ConfigMap{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: "holdfast-system", Name: "holdfast"}, bad); err != nil {
		t.Fatal(err)
	}
	bad.ResourceVersion = "" // whoever writes it meanwhile
	bad.Data["config.yaml"] = configuration(short + ", deletion: {mode: Sometimes}")
	calls := 0
	gomega.NewWithT(t).Eventually(func() bool {
		if err := e.Client.Update(t.Context(), bad.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "deletion.mode") {
			t.Errorf("a call did not reach the webhook: %v", err)
		}
		calls++
		return calls%10 == 0 && e.Metric(t, "holdfast_certificate_rotations_total", testkit.Label("kind", "authority")) >= authorities &&
			e.Metric(t, "holdfast_certificate_rotations_total", testkit.Label("kind", "serving")) >= certificates
	}, "240s", "100ms").Should(gomega.BeTrue(), "the certificates do not rotate")
}

// configureWith replaces the configuration.
func configureWith(t testing.TB, e *testkit.Env, text string) {
	t.Helper()
	e.Apply(t, "holdfast-system", "{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast}, data: {config.yaml: \""+configuration(text)+"\"}}")
}

func configuration(text string) string {
	return "{apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration, " + text + "}"
}
