// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// combinations are all ways to switch the features, and what else changes what is rendered.
func combinations() []string {
	out := []string{on, "workloads: false\n", "crds: {apply: false}\n", "networkPolicy: {enabled: false, webhookFrom: [{podSelector: {}}]}\n"}
	for _, deletion := range []string{"Off", "Enforce"} {
		for _, eviction := range []string{`mode: "Off"`, "mode: Audit", "scope: {namespaces: [default, kube-public]}"} {
			for _, hierarchy := range []string{"Off", "Warn"} {
				for _, accounts := range []string{"Off", "Report", "Enforce"} {
					for _, sync := range []bool{false, true} {
						out = append(out, fmt.Sprintf(`
configuration:
  deletion: {mode: %q}
  eviction: {%s}
  hierarchy: {mode: %q}
  serviceAccounts: {mode: %q}
sync: {enabled: %t}
`, deletion, eviction, hierarchy, accounts, sync))
					}
				}
			}
		}
	}
	return out
}

// foreign are the kinds of other projects that the chart can make objects of.
const foreign = `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[2]ss.%[1]s}, spec: {group: %[1]s, scope: Namespaced,
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[2]ss, singular: %[2]s},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`

// prepare makes what the chart does not: the namespaces, and kinds of other projects.
func prepare(t testing.TB, e *testkit.Env) {
	t.Helper()
	if out := e.Kubectl(t, "apply", "-f", "../config/namespaces"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	for _, kind := range [][3]string{
		{"monitoring.coreos.com", "servicemonitor", "ServiceMonitor"},
		{"monitoring.coreos.com", "prometheusrule", "PrometheusRule"},
		{"cert-manager.io", "issuer", "Issuer"},
		{"cert-manager.io", "certificate", "Certificate"},
	} {
		e.Apply(t, "", fmt.Sprintf(foreign, kind[0], kind[1], kind[2]))
	}
	if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=180s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

func TestInstall_theAPIServerTakesEveryCombination(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	prepare(t, e)
	chart := load(t)
	known := map[string]bool{}
	for _, values := range combinations() {
		for _, o := range objects(t, mustRender(t, chart, values).Text()) {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if known[string(text)] { // many combinations have it
				continue
			}
			known[string(text)] = true
			if err := e.Client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s %s/%s, with %s\n%v", o.GetKind(), o.GetNamespace(), o.GetName(), values, err)
			}
		}
	}
}

// workload runs one as the Deployment does, with the identity that the chart gives it.
func workload(t testing.TB, e *testkit.Env, which manager.Workload, args ...string) *manager.Process {
	t.Helper()
	binary, err := manager.Build(t.Context(), "holdfast-manager", false, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	p, err := manager.Start(t.Context(), e.Cluster, manager.Options{Workload: which, Binary: binary, Dir: t.TempDir(), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of %s ends:\n%s", which, p.LogTail())
		}
		_ = p.Kill()
	})
	return p
}

// forbidden are the requests of Holdfast that the API server has refused.
func forbidden(t testing.TB, log *auditlog.Log) []string {
	t.Helper()
	events, err := log.Events()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		what := e.User.Username + ": " + e.Verb + " " + e.RequestURI
		if e.ResponseStatus.Code == http.StatusForbidden && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	return out
}

func TestInstall_theRightsAreEnoughForWhatIsSwitchedOn(t *testing.T) {
	t.Parallel()
	log, options, err := auditlog.New(t.TempDir(), auditv1.PolicyRule{Level: auditv1.LevelMetadata, UserGroups: []string{"system:serviceaccounts:holdfast-system"}})
	if err != nil {
		t.Fatal(err)
	}
	e := testkit.New(t, testkit.Options{NotInstalled: true, Cluster: options})
	prepare(t, e)
	const off = `deletion: {mode: "Off"}, eviction: {mode: "Off"}`
	tests := []struct {
		name, values string
		// does something that the feature has to act on.
		does func(testing.TB, *testkit.Env)
		sync bool
	}{
		{name: "nothing", values: "configuration: {" + off + "}"},
		{name: "evictions in a list of namespaces", values: `configuration: {deletion: {mode: "Off"}, eviction: {pods: Cached, scope: {namespaces: [default, kube-public]}}}`},
		{name: "evictions everywhere", values: `configuration: {deletion: {mode: "Off"}, eviction: {pods: Cached}}`},
		{name: "evictions by patterns and labels", values: `configuration: {deletion: {mode: "Off"}, eviction: {scope: {namespaces: ["kube-*"], namespaceSelector: {matchLabels: {a: b}}}}}`},
		{name: "trees", values: "configuration: {" + off + ", hierarchy: {mode: Enforce}}", does: grow},
		{name: "service accounts, reported", values: "configuration: {" + off + ", serviceAccounts: {mode: Report}}"},
		{name: "service accounts", values: "configuration: {" + off + ", serviceAccounts: {mode: Enforce}}"},
		{name: "deletions", values: "", does: protect},
		{name: "everything", values: on + "workloads: false\n", sync: true, does: grow},
	}
	h := newHelm(t, e)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { // one after the other: there is one release
			values := strings.Replace(tt.values, "certManager: {enabled: true}", "", 1) // nobody issues here
			before := len(forbidden(t, log))
			t.Cleanup(func() { // also of one that never becomes ready
				if got := forbidden(t, log)[before:]; len(got) > 0 {
					t.Errorf("requests that the API server refused:\n%s", strings.Join(got, "\n"))
				}
			})
			h.mustInstall(values)
			p := workload(t, e, manager.Guard)
			ready(t, e)
			if tt.sync {
				s := workload(t, e, manager.Sync, "--cache-dir", filepath.Join(t.TempDir(), "sources"))
				defer func() { _ = s.Stop() }()
			}
			if tt.does != nil {
				tt.does(t, e)
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// ready waits until Holdfast says of itself that it works as configured, after its start.
func ready(t testing.TB, e *testkit.Env) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string {
		return e.Kubectl(t, "get", "holdfast", "holdfast", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`).Stdout
	}, "180s", "200ms").Should(gomega.Equal("Holdfast works as configured"))
}

// protect has something marked, and refused.
func protect(t testing.TB, e *testkit.Env) {
	t.Helper()
	e.Apply(t, "default", `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, labels: {holdfast.dev/deletion-protected: Always}}}`)
	g := gomega.NewWithT(t)
	g.Eventually(func() string { return e.Kubectl(t, "delete", "configmap", "kept", "--dry-run=server").Stderr }, "180s", "200ms").
		Should(gomega.ContainSubstring("is protected from deletion"))
	g.Eventually(func() string { return e.Kubectl(t, "get", "ns", "default", "-o", "jsonpath={.metadata.labels}").Stdout }, "180s", "200ms").
		Should(gomega.ContainSubstring("holdfast.dev/holds-protected"))
}

// grow has a namespace made below another, with what is copied into it.
func grow(t testing.TB, e *testkit.Env) {
	t.Helper()
	g := gomega.NewWithT(t)
	parent, child := e.Namespace(t), ""
	child = parent + "-child"
	e.Apply(t, parent, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`)
	g.Eventually(func() int {
		return e.KubectlInput(t, `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: `+child+`}}`, "apply", "-n", parent, "-f", "-").Code
	}, "180s", "200ms").Should(gomega.BeZero())
	g.Eventually(func() int { return e.Kubectl(t, "get", "role", "reader", "-n", child).Code }, "180s", "200ms").Should(gomega.BeZero())
}
