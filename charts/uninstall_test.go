// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// released is what the uninstall tests install: every feature that brings objects of its own.
const released = "configuration: {hierarchy: {mode: Enforce}}\nsync: {enabled: true}\n"

// oneByOne deletes objects without any hook or order that Helm would have, as Argo CD prunes.
func oneByOne(order func([]*unstructured.Unstructured)) func(testing.TB, *testkit.Env) {
	return func(t testing.TB, e *testkit.Env) {
		t.Helper()
		all := objects(t, rendered(t, released).Text())
		order(all)
		for _, o := range all {
			if err := e.Client.Delete(t.Context(), o, client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
				t.Errorf("delete the %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	}
}

// applied is how kubectl and Argo CD install.
func applied(t testing.TB, e *testkit.Env) {
	t.Helper()
	if out := e.KubectlInput(t, rendered(t, released).Text(), "apply", "--server-side", "--force-conflicts", "-f", "-"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

func helmInstalled(t testing.TB, e *testkit.Env) {
	t.Helper()
	newHelm(t, e).mustInstall(released)
}

func helmUninstalled(t testing.TB, e *testkit.Env) {
	t.Helper()
	newHelm(t, e).mustUninstall()
}

// confirm annotates the anchor, so that it can be deleted.
func confirm(t testing.TB, e *testkit.Env) {
	t.Helper()
	if out := e.Kubectl(t, "annotate", "clusterrole", admission.AnchorName, v1alpha1.StopAnnotation+"="+admission.AnchorName); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

// refusedAndUninstalled expects that an uninstall without the annotation is refused and leaves all rules in place, and then uninstalls.
func refusedAndUninstalled(t testing.TB, e *testkit.Env) {
	t.Helper()
	h, before := newHelm(t, e), rules(t, e)
	if err := h.uninstall(); err == nil || !strings.Contains(err.Error()+h.said.String(), admission.StopCommands) {
		t.Errorf("got %v\n%s\nwant a refusal with %q", err, &h.said, admission.StopCommands)
	}
	if diff := cmp.Diff(before, rules(t, e)); diff != "" {
		t.Errorf("rules (-before +after)\n%s", diff)
	}
	confirm(t, e)
	h.mustUninstall()
}

// deleted is kubectl delete of the whole file.
func deleted(t testing.TB, e *testkit.Env) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(rendered(t, released).Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := e.Kubectl(t, "delete", "-f", file, "--timeout=180s"); out.Code != 0 {
		t.Error(out.Stderr)
	}
}

// plain deletes the generated manifests.
func plain(t testing.TB, e *testkit.Env) {
	t.Helper()
	for _, path := range []string{"install", "rbac/hierarchy.yaml", "rbac/sync.yaml", "workloads"} {
		if out := e.Kubectl(t, "delete", "-f", "../config/"+path, "--timeout=180s"); out.Code != 0 {
			t.Error(out.Stderr)
		}
	}
}

func plainApplied(t testing.TB, e *testkit.Env) {
	t.Helper()
	for _, path := range []string{"install", "rbac/hierarchy.yaml", "rbac/sync.yaml", "workloads"} {
		if out := e.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", "../config/"+path); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
	}
	e.Apply(t, "holdfast-system", `{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast}, data: {config.yaml: "{apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration, hierarchy: {mode: Enforce}}"}}`)
}

func TestUninstall_takesAwayEveryRuleAndNothingOfAnybodys(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	prepare(t, e)
	tests := []struct {
		name               string
		install, uninstall func(testing.TB, *testkit.Env)
		// dead says that no manager runs when it is uninstalled.
		dead bool
		// unconfirmed leaves out the annotation of the anchor.
		unconfirmed bool
	}{
		{name: "helm uninstall", install: helmInstalled, uninstall: helmUninstalled},
		{name: "helm uninstall, after it was refused", install: helmInstalled, uninstall: refusedAndUninstalled, unconfirmed: true},
		{
			name: "helm uninstall in one step", uninstall: helmUninstalled, unconfirmed: true,
			install: func(t testing.TB, e *testkit.Env) {
				t.Helper()
				newHelm(t, e).mustInstall(released + "anchor: {confirmDeletion: false}\n")
			},
		},
		{name: "helm uninstall, with the manager dead", install: helmInstalled, uninstall: helmUninstalled, dead: true},
		{name: "kubectl delete of what the chart makes", install: applied, uninstall: deleted},
		{name: "kubectl delete of the plain manifests", install: plainApplied, uninstall: plain},
		{name: "kubectl delete of the plain manifests, with the manager dead", install: plainApplied, uninstall: plain, dead: true},
		{
			name: "one object after the other, the anchor first", install: applied,
			uninstall: oneByOne(func([]*unstructured.Unstructured) {}),
		},
		{
			name: "one object after the other, the anchor last", install: applied,
			uninstall: oneByOne(func(all []*unstructured.Unstructured) { slices.Reverse(all) }),
		},
		{
			name: "one object after the other, with the manager dead", install: applied, dead: true,
			uninstall: oneByOne(func(all []*unstructured.Unstructured) { slices.Reverse(all) }),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { // one after the other: there can be one Holdfast
			tt.install(t, e)
			p := workload(t, e, manager.Guard)
			ready(t, e)
			protect(t, e)
			grow(t, e)
			e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: theirs}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: default}], resourceNames: [kept]}]}}`)
			before := theirs(t, e)
			if len(rules(t, e)) == 0 {
				t.Fatal("there are no rules to take away")
			}
			if tt.dead {
				if err := p.Kill(); err != nil {
					t.Fatal(err)
				}
			}

			if !tt.unconfirmed {
				confirm(t, e)
			}
			tt.uninstall(t, e)

			gomega.NewWithT(t).Eventually(func() []string { return rules(t, e) }, "180s", "200ms").Should(gomega.BeEmpty(), "rules stay")
			if !tt.dead { // what it may still do is nothing
				if err := p.Stop(); err != nil {
					t.Log(err)
				}
			}
			if got := rules(t, e); len(got) > 0 {
				t.Errorf("rules have come back: %v", got)
			}
			if diff := cmp.Diff(before, theirs(t, e)); diff != "" {
				t.Errorf("something went, or came (-before +after)\n%s", diff)
			}
		})
	}
}

func names(t testing.TB, e *testkit.Env, args ...string) []string {
	t.Helper()
	out := e.Kubectl(t, append([]string{"get", "-o", "name"}, args...)...)
	if out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	return strings.Fields(out.Stdout)
}

// rules are all that Holdfast has made in the API server.
func rules(t testing.TB, e *testkit.Env) []string {
	t.Helper()
	all := names(t, e, "validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations,mutatingwebhookconfigurations")
	return slices.DeleteFunc(all, func(name string) bool { return !strings.Contains(name, "/holdfast-") })
}

// theirs is what no uninstall may take.
func theirs(t testing.TB, e *testkit.Env) []string {
	t.Helper()
	return slices.Concat(
		names(t, e, "namespaces"),
		names(t, e, "crd"),
		names(t, e, "resourcedeletionprotections,subnamespaceanchors,hierarchyconfigurations,holdfasts", "-A"),
		names(t, e, "roles", "-A", "-l", "!app.kubernetes.io/part-of"),
		names(t, e, "configmap", "kept", "-n", "default"),
	)
}
