// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	plugin "github.com/holdfast-dev/holdfast/internal/cli/adopt"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

const (
	hncKinds = "../../config/crd/hnc"
	rights   = "../../config/rbac/hierarchy.yaml"
	quota    = "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchicalResourceQuota, metadata: {name: q, namespace: acme}, spec: {hard: {pods: 5}}}"
)

// TestAdopt is "kubectl holdfast adopt hnc" as one story, in one cluster: from an HNC that runs to Holdfast and back.
func TestAdopt(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	h := install(t, e)
	h.kubelet()
	h.endpoints()
	h.ready()
	h.webhooks(false)
	h.apply(quota)
	before := h.versions()

	stage := func(name string, f func(*testing.T, *hnc)) {
		t.Run(name, func(t *testing.T) { f(t, &hnc{newActor(t, e)}) })
		if t.Failed() {
			t.FailNow() // each stage is where the next begins
		}
	}
	stage("without Holdfast nothing is changed", testWithoutHoldfast)
	e.Install(t)
	stage("all that is in the way is said at once", testInTheWay)
	stage("who may not do it is told what is missing", testWithoutRights)
	stage("HNC's kinds are brought up to date without any loss", testDefinitions)
	delete(before, "HierarchicalResourceQuota/acme/q")
	stage("a dry run shows what would be done, and does nothing", testDryRun)
	stage("without a yes nothing is done", testNotAsked)
	stage("cut off after each write it goes on", testResumes)
	if diff := cmp.Diff(before, h.versions()); diff != "" {
		t.Fatalf("objects of the trees were written (-before +after)\n%s", diff)
	}
	stage("Holdfast has the trees", testTakenOver)
	stage("once more does nothing", testAgain)
	stage("the way back, cut off after each write", testBack)
	stage("forth again, as people do it", testAsPeople)
	stage("back and forth, as the guide says", testGuide)
}

// nothing says that a call was refused and changed nothing.
func nothing(t *testing.T, h *hnc, c adoption, want ...string) {
	t.Helper()
	before := h.everything()
	got := c.run(t, h.Env)
	if got.err == nil {
		t.Fatalf("it was done:\n%s", got.out)
	}
	for _, w := range append(want, "Nothing was changed") {
		if !strings.Contains(got.err.Error(), w) {
			t.Errorf("%q is not in:\n%v", w, got.err)
		}
	}
	if diff := cmp.Diff(before, h.everything()); diff != "" {
		t.Errorf("something was changed (-before +after)\n%s", diff)
	}
}

// everything are the versions of all that a hand-over may change, beside the trees.
func (h *hnc) everything() map[string]string {
	h.t.Helper()
	out := h.versions()
	for line := range strings.Lines(h.run("get", "validatingwebhookconfigurations,mutatingwebhookconfigurations,deployments,configmaps", "-A",
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {.metadata.generation} {.metadata.resourceVersion}{"\n"}{end}`)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "Deployment") {
			fields = fields[:2] // its status is not the command's
		}
		out[fields[0]] = fields[len(fields)-1]
	}
	return out
}

func testWithoutHoldfast(t *testing.T, h *hnc) {
	nothing(t, h, adoption{}, "check: ", "there is no Holdfast in the namespace holdfast-system: install it and run the command again: kubectl apply")
	nothing(t, h, adoption{Options: plugin.Options{Back: true}}, "there is no Holdfast in the namespace", "there is no way back: ConfigMap holdfast-system/holdfast-adopted-hnc")
}

func testInTheWay(t *testing.T, h *hnc) {
	nothing(t, h, adoption{},
		"HierarchicalResourceQuotas, which Holdfast does not enforce yet: acme/q. Stay with HNC while you need them",
		"the CustomResourceDefinition hncconfigurations.hnc.x-k8s.io: it does not have spec.excludedNamespaces: kubectl apply --server-side --force-conflicts -f config/crd/hnc",
		"the ServiceAccount holdfast-guard, which Holdfast acts as, may not", "create/update/delete secrets", "kubectl apply --server-side -f config/rbac/hierarchy.yaml")
	h.run("apply", "--server-side", "-f", rights)
	h.run("delete", "hierarchicalresourcequotas", "-n", "acme", "q")
}

// reader may read everything, and make access reviews.
const reader = "test-reader"

func testWithoutRights(t *testing.T, h *hnc) {
	h.Grant(t, "", reader, testkit.Rule("*", []string{"*"}, "get", "list"),
		testkit.Rule("authorization.k8s.io", []string{"subjectaccessreviews"}, "create"))
	nothing(t, h, adoption{as: reader},
		"you may not delete validatingwebhookconfigurations.admissionregistration.k8s.io", "nor create/update configmaps in holdfast-system",
		"nor unprotect resourcedeletionprotections.holdfast.dev", "nor patch deployments/scale.apps in hnc-system", "let a cluster administrator run this")
	nothing(t, h, adoption{as: "test-without-rights"}, "look for HNC: list Deployments: deployments.apps", "let a cluster administrator run this")
}

// HNC was applied from the client's side; applying Holdfast's kinds over its own
// changes no object, and the kind that Holdfast does not have stays as it is.
func testDefinitions(t *testing.T, h *hnc) {
	before := h.versions()
	const quotas = "hierarchicalresourcequotas.hnc.x-k8s.io"
	get := func() string { return h.run("get", "crd", quotas, "-o", "jsonpath={.metadata.resourceVersion}") }
	quotasBefore := get()
	h.run("apply", "--server-side", "--force-conflicts", "-f", hncKinds)
	h.established("-f", hncKinds)
	if diff := cmp.Diff(before, h.versions()); diff != "" {
		t.Errorf("objects were changed (-before +after)\n%s", diff)
	}
	if get() != quotasBefore {
		t.Error("the kind of quotas was changed")
	}
	for _, crd := range []string{"hierarchyconfigurations", "subnamespaceanchors", "hncconfigurations"} {
		stored := h.run("get", "crd", crd+".hnc.x-k8s.io", "-o", "jsonpath={.status.storedVersions} {.spec.names.shortNames}")
		if want := `["v1alpha2"] `; !strings.HasPrefix(stored, want) {
			t.Errorf("%s: %s", crd, stored)
		}
	}
	// What HNC itself writes is still taken, its quotas too.
	h.run("annotate", "hncconfigurations", "config", "--dry-run=server", "a=b")
	h.run("get", "hierarchyconfigurations,subns,hrq", "-A")
}

func testDryRun(t *testing.T, h *hnc) {
	before := h.everything()
	got := adoption{Options: plugin.Options{DryRun: true, Output: ui.JSON}}.run(t, h.Env)
	if got.err != nil {
		t.Fatal(got.err)
	}
	if want := "check done, stand-by would, webhooks would, scale would, activate would, compare would"; got.states() != want {
		t.Errorf("got %s, want %s", got.states(), want)
	}
	wantFound := []string{
		"Deployment hnc-system/hnc-controller-manager, 2 of 2 pods ready",
		"ValidatingWebhookConfiguration hnc-validating-webhook-configuration, answered by Service hnc-system/hnc-webhook-service",
		"MutatingWebhookConfiguration hnc-mutating-webhook-configuration, answered by Service hnc-system/hnc-webhook-service",
	}
	if diff := cmp.Diff(wantFound, got.report.Found); diff != "" {
		t.Errorf("found (-want +got)\n%s", diff)
	}
	const want = `apiVersion: config.holdfast.dev/v1alpha1
kind: HoldfastConfiguration
hierarchy:
  mode: Enforce
  standBy: true
  excludedNamespaces: [kube-system, kube-public, hnc-system, kube-node-lease]
  managedLabels: [team/.*]
  uncopiedLabels: [cattle.io/creator=norman]
`
	if diff := cmp.Diff(want, got.report.Configuration); diff != "" {
		t.Errorf("configuration (-want +got)\n%s", diff)
	}
	for step, want := range map[string]string{
		"check":    "there are 3 namespaces in trees, 3 HierarchyConfigurations, 1 SubnamespaceAnchors and 6 copies",
		"webhooks": "and keep them in ConfigMap holdfast-system/holdfast-adopted-hnc",
		"scale":    "scale Deployment hnc-system/hnc-controller-manager from 2 to 0",
	} {
		if !strings.Contains(got.message(step), want) {
			t.Errorf("%s: %q is not in %q", step, want, got.message(step))
		}
	}
	if !slices.ContainsFunc(got.report.Notes, func(n string) bool { return strings.HasPrefix(n, "--max-reconciles has no effect") }) {
		t.Errorf("notes: %q", got.report.Notes)
	}
	if diff := cmp.Diff(before, h.everything()); diff != "" {
		t.Errorf("something was changed (-before +after)\n%s", diff)
	}
}

func testNotAsked(t *testing.T, h *hnc) {
	nothing(t, h, adoption{answer: "n\n"}, "stand-by: it takes a yes, or --yes")
}

// testResumes ends the command after each write that it makes, and once before its
// answer comes.
func testResumes(t *testing.T, h *hnc) {
	got := untilDone(t, h, plugin.Options{})
	if want := "check done, stand-by already, webhooks already, scale already, activate done, compare done"; got.states() != want {
		t.Errorf("got %s, want %s", got.states(), want)
	}
	for _, o := range got.report.Trees.Objects {
		if o.Written > 0 || o.Before != o.Now {
			t.Errorf("%+v", o)
		}
	}
	if want := "Holdfast has written none of the objects: 3 namespaces in trees"; !strings.Contains(got.message("compare"), want) {
		t.Errorf("%q is not in %q", want, got.message("compare"))
	}
	replicas := h.run("get", "configmap", plugin.RecordName, "-n", "holdfast-system", "-o", `jsonpath={.data.replicas\.yaml}`)
	if !strings.Contains(replicas, "replicas: 2") {
		t.Errorf("the replicas that HNC had are lost: %s", replicas)
	}
}

// untilDone calls until nothing is left to write. Each call has one write, and every
// second one loses its answer.
func untilDone(t *testing.T, h *hnc, o plugin.Options) said {
	t.Helper()
	o.Output = ui.JSON
	const most = 20
	for n := range most {
		got := adoption{writes: 1, lost: n%2 == 1, Options: o}.run(t, h.Env)
		if got.err == nil {
			if n < 4 {
				t.Errorf("done after %d calls: it was not cut", n)
			}
			return got
		}
		if !got.cut {
			t.Fatalf("it was not cut: %v\n%s", got.err, got.errOut)
		}
		t.Logf("call %d: %s: %v", n, got.states(), got.err)
		if !strings.Contains(got.err.Error(), "run the command again") {
			t.Errorf("it does not say how to go on: %v", got.err)
		}
	}
	t.Fatalf("not done after %d calls", most)
	return said{}
}

func testTakenOver(t *testing.T, h *hnc) {
	if left := h.run("get", "validatingwebhookconfigurations,mutatingwebhookconfigurations,pods", "-n", hncNamespace, "-o", "name"); strings.Contains(left, "hnc") {
		t.Errorf("HNC left %s", left)
	}
	refused := h.Kubectl(t, "delete", "role", "shared", "-n", "team-b", "--dry-run=server")
	if refused.Code == 0 || !strings.Contains(refused.Stderr, admit.CopiesPolicyName) {
		t.Errorf("a copy can be deleted: %s", refused.Stderr)
	}
	for name, made := range map[string]string{"policy": plugin.NamespacesPolicy, "webhook": plugin.HierarchyWebhook} {
		if !slices.Contains([]string{admit.NamespacesPolicyName, "hierarchyconfigurations.hnc.x-k8s.io"}, made) {
			t.Errorf("the %s that is waited for is not installed: %s", name, made)
		}
	}
	h.run("create", "role", "new", "--verb=get", "--resource=pods", "-n", "acme")
	h.Eventually(func() int { return h.Kubectl(t, "get", "role", "new", "-n", "team-a").Code }, patience, often).Should(gomega.Equal(0))
	h.Eventually(func() string {
		return h.run("get", "hncconfigurations", "config", "-o", `jsonpath={.status.resources[?(@.resource=="roles")].numPropagatedObjects}`)
	}, patience, often).Should(gomega.Equal("4"))
}

func testAgain(t *testing.T, h *hnc) {
	before := h.everything()
	got := adoption{answer: "n\n", Options: plugin.Options{Output: ui.JSON}}.run(t, h.Env)
	if want := "check done, stand-by already, webhooks already, scale already, activate already, compare done"; got.err != nil || got.states() != want {
		t.Errorf("got %v: %s, want %s", got.err, got.states(), want)
	}
	if want := "2 of 4 copies of roles.rbac.authorization.k8s.io (team-a/new, team-b/new)"; !strings.Contains(got.message("compare"), want) {
		t.Errorf("%q is not in %q", want, got.message("compare"))
	}
	if diff := cmp.Diff(before, h.everything()); diff != "" {
		t.Errorf("something was changed (-before +after)\n%s", diff)
	}
}

func testBack(t *testing.T, h *hnc) {
	before := h.versions()
	got := adoption{Options: plugin.Options{Back: true, DryRun: true, Output: ui.JSON}}.run(t, h.Env)
	if want := "check done, stand-by would, scale would, webhooks would"; got.err != nil || got.states() != want {
		t.Errorf("got %v: %s, want %s", got.err, got.states(), want)
	}
	nothing(t, h, adoption{as: reader, Options: plugin.Options{Back: true}}, "you may not create validatingwebhookconfigurations.admissionregistration.k8s.io")
	got = untilDone(t, h, plugin.Options{Back: true})
	if want := "check done, stand-by already, scale already, webhooks already"; got.states() != want {
		t.Errorf("got %s, want %s", got.states(), want)
	}
	h.ready()
	if diff := cmp.Diff(before, h.versions()); diff != "" {
		t.Errorf("objects of the trees were written (-before +after)\n%s", diff)
	}
	for kind, want := range map[string]string{
		"validatingwebhookconfiguration": `{"example.com/kept":"true"} Fail,Fail QQ==,QQ==`,
		"mutatingwebhookconfiguration":   ` Ignore QQ==`,
	} {
		name := "hnc-" + strings.TrimSuffix(kind, "webhookconfiguration") + "-webhook-configuration"
		got := h.run("get", kind, name, "-o", "jsonpath={.metadata.labels} {.webhooks[*].failurePolicy} {.webhooks[*].clientConfig.caBundle}")
		if strings.ReplaceAll(got, " ", ",") != strings.ReplaceAll(want, " ", ",") {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	// HNC may write what Holdfast protected.
	h.run("delete", "role", "new", "-n", "acme")
	h.run("delete", "role", "new", "-n", "team-a")
	h.run("delete", "role", "new", "-n", "team-b")
}

func testAsPeople(t *testing.T, h *hnc) {
	testkit.Long(t)
	config := h.run("get", "configmap", "holdfast", "-n", "holdfast-system", "-o", `jsonpath={.data.config\.yaml}`)
	h.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast, namespace: holdfast-system}, data: {config.yaml: \"" +
		strings.ReplaceAll("# Ours.\n"+config+"\n# Never touch.\ndeletion: {mode: Warn}\n", "\n", `\n`) + "\"}}")
	got := adoption{answer: "yes\n"}.run(t, h.Env)
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.errOut)
	}
	for _, want := range []string{
		"HNC v1.1.0:\n  Deployment hnc-system/hnc-controller-manager, 2 of 2 pods ready\n",
		"1/6  check     done     nothing is in the way; there are 3 namespaces in trees",
		"2/6  stand-by  already  Holdfast follows the trees and stands by\n",
		"3/6  webhooks  done     removed ValidatingWebhookConfiguration hnc-validating-webhook-configuration and MutatingWebhookConfiguration",
		"4/6  scale     done     scaled Deployment hnc-system/hnc-controller-manager from 2 to 0; its pods are gone\n",
		"5/6  activate  done     Holdfast keeps the trees; 4 policies and ",
		// The Roles that went meanwhile are counted within a minute.
		"6/6  compare   done     since it took over Holdfast has written ",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
	if want := "Hand the trees of namespaces over to Holdfast? [y/N]"; !strings.Contains(got.errOut, want) {
		t.Errorf("%q is not in\n%s", want, got.errOut)
	}
	config = h.run("get", "configmap", "holdfast", "-n", "holdfast-system", "-o", `jsonpath={.data.config\.yaml}`)
	if !strings.HasPrefix(config, "# Ours.\n") || !strings.HasSuffix(config, "\n# Never touch.\ndeletion: {mode: Warn}\n") || strings.Contains(config, "standBy") {
		t.Errorf("the configuration became\n%s", config)
	}
}

func testGuide(t *testing.T, h *hnc) {
	testkit.Long(t)
	reader := h.Reader(t)
	reader.Stdin = "yes\n"
	guide := page.Read(t, "docs/guides/from-hnc.md")
	if got := reader.Does(t, guide, "The way back"); !strings.Contains(got, "HNC") {
		t.Errorf("got %s", got)
	}
	h.Eventually(func() string {
		return h.run("get", "deployment", "hnc-controller-manager", "-n", "hnc-system", "-o", "jsonpath={.spec.replicas}")
	}, patience, often).Should(gomega.Equal("2"))
	reader.Does(t, guide, "What you need")
	if got := reader.Does(t, guide, "Change over"); !strings.Contains(got, "6/6  compare   done") {
		t.Errorf("got %s", got)
	}
}

// TestAdopt_lockedCluster: HNC is dead, and nobody can make a namespace, not even
// that of Holdfast.
func TestAdopt_lockedCluster(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	// The webhooks refuse its lease too.
	e := testkit.New(t, testkit.Options{NotInstalled: true, ManagerArgs: []string{"--leader-elect=false"}})
	h := install(t, e)
	locked := func(args ...string) {
		t.Helper()
		h.webhooks(true)
		h.Eventually(func() string { return e.Kubectl(t, args...).Stderr }, patience, often).
			Should(gomega.ContainSubstring(".hnc.x-k8s.io\": "))
	}
	locked("create", "namespace", "other", "--dry-run=server")
	file := filepath.Join(t.TempDir(), "kept.yaml")

	got := adoption{Options: plugin.Options{DryRun: true, Output: ui.JSON, Record: file}}.run(t, e)
	if want := "unlock would, check would, stand-by failed"; got.err == nil || got.states() != want {
		t.Errorf("got %v: %s, want %s", got.err, got.states(), want)
	}
	got = adoption{answer: "y\n", Options: plugin.Options{Record: file}}.run(t, e)
	if got.err == nil || !strings.Contains(got.err.Error(), "there is no Holdfast in the namespace holdfast-system: install it and run the command again") ||
		!strings.Contains(got.err.Error(), "What was done until here stays") {
		t.Errorf("it does not say what to do next: %v", got.err)
	}
	if want := "namespaces can be written again. They are kept in the file " + file; !strings.Contains(got.out, want) {
		t.Errorf("%q is not in\n%s", want, got.out)
	}
	h.Eventually(func() string { return e.Kubectl(t, "create", "namespace", "other").Stderr }, patience, often).Should(gomega.BeEmpty())
	h.run("delete", "namespace", "other")

	e.Install(t)
	h.run("apply", "--server-side", "--force-conflicts", "-f", hncKinds)
	h.run("apply", "--server-side", "-f", rights)
	before := h.versions()
	got = adoption{Options: plugin.Options{Record: file, Output: ui.JSON}}.run(t, e)
	if want := "check done, stand-by done, webhooks done, scale done, activate done, compare done"; got.err != nil || got.states() != want {
		t.Fatalf("got %v: %s, want %s", got.err, got.states(), want)
	}
	if diff := cmp.Diff(before, h.versions()); diff != "" {
		t.Errorf("objects of the trees were written (-before +after)\n%s", diff)
	}
	kept := h.run("get", "configmap", plugin.RecordName, "-n", "holdfast-system", "-o", `jsonpath={.data.webhooks\.yaml}`)
	for _, name := range []string{"hnc-validating-webhook-configuration", "hnc-mutating-webhook-configuration"} {
		if !strings.Contains(kept, "    name: "+name+"\n") {
			t.Errorf("%s, which the file had, is not in the cluster:\n%s", name, kept)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}

	// The way back waits for an HNC that can answer, so that it does not lock again.
	got = adoption{Options: plugin.Options{Back: true, Output: ui.JSON, Timeout: 10 * time.Second}}.run(t, e)
	if want := "check done, stand-by done, scale failed"; got.err == nil || got.states() != want {
		t.Errorf("got %v: %s, want %s", got.err, got.states(), want)
	}
	if got.err != nil && !strings.Contains(got.err.Error(), "0 of 2 pods of Deployment hnc-system/hnc-controller-manager are ready; HNC's webhooks come back when it is ready") {
		t.Error(got.err)
	}
	h.run("create", "namespace", "other")

	// HNC comes back and dies, and has Holdfast's namespace like any other: nothing can
	// be kept there before the webhooks go.
	h.run("delete", "configmap", plugin.RecordName, "-n", "holdfast-system")
	h.run("label", "namespace", "holdfast-system", "hnc.x-k8s.io/included-namespace=true")
	locked("create", "configmap", "any", "-n", "holdfast-system", "--dry-run=server")
	file = filepath.Join(t.TempDir(), "again.yaml")
	got = adoption{Options: plugin.Options{Record: file, Output: ui.JSON}}.run(t, e)
	if want := "unlock done, check done, stand-by already, webhooks done, scale done, activate done, compare done"; got.err != nil || got.states() != want {
		t.Fatalf("got %v: %s, want %s", got.err, got.states(), want)
	}
	for step, want := range map[string]string{"unlock": "They are kept in the file " + file, "webhooks": "put what the file " + file + " kept into ConfigMap"} {
		if !strings.Contains(got.message(step), want) {
			t.Errorf("%q is not in %q", want, got.message(step))
		}
	}
}

// What the check asks of HNC's kinds is all that Holdfast's have beyond them.
func TestDefinitions_whatHoldfastNeeds(t *testing.T) {
	t.Parallel()
	theirs, ours := fields(t, manifest(t, "crds.yaml")), map[string]bool{}
	files, err := filepath.Glob(filepath.Join(hncKinds, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(ours, fields(t, string(text)))
	}
	var more []string
	for f := range ours {
		if !theirs[f] {
			more = append(more, f)
		}
	}
	if diff := cmp.Diff([]string{"hncconfigurations spec.excludedNamespaces"}, more); diff != "" {
		t.Errorf("fields beyond HNC's (-want +got)\n%s", diff)
	}
}
