// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
)

const auditFolder = "../../config/audit"

// audited is a cluster whose API server posts audit events to a manager, set up as
// the guide says.
func audited(t *testing.T) (e *testkit.Env, start func()) {
	t.Helper()
	dir := t.TempDir()
	address := loopback.FreeAddress(t)
	kubeconfig, err := os.ReadFile(filepath.Join(auditFolder, "webhook.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	policyFile, err := filepath.Abs(filepath.Join(auditFolder, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write("token", "none yet")
	write("ca.crt", "")
	webhook := write("webhook.kubeconfig", strings.ReplaceAll(string(kubeconfig), "manager.example.com:9443", address))
	e = testkit.New(t, testkit.Options{
		NoManager: true,
		Cluster: cluster.Options{APIServerArgs: []string{
			"--audit-policy-file=" + policyFile, "--audit-webhook-config-file=" + webhook, "--audit-webhook-batch-max-wait=1s", "--audit-webhook-initial-backoff=500ms",
		}},
		ManagerArgs: []string{"--webhook-bind-address", address, "--webhook-url", "https://" + address},
	})
	start = func() { e.Manager = e.StartManager(t) }
	start()

	done(t, e, "apply", "--server-side", "-f", filepath.Join(auditFolder, "poster.yaml"))
	secret := func(name, key string) string {
		var s corev1.Secret
		gomega.NewWithT(t).Eventually(func() []byte {
			if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: "holdfast-system", Name: name}, &s); err != nil {
				t.Log(err)
			}
			return s.Data[key]
		}, "180s", "100ms").ShouldNot(gomega.BeEmpty())
		return string(s.Data[key])
	}
	write("token", secret("holdfast-audit", "token"))
	write("ca.crt", secret("holdfast-guard-tls", "ca.crt"))
	if err := e.Manager.Stop(); err != nil { // or it would lose its lease
		t.Fatal(err)
	}
	if err := e.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	start()
	if err := e.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, start
}

func denialsOf(t testing.TB, e *testkit.Env, name string) func() string {
	t.Helper()
	return statusOf(t, e, name, `{.status.denials.count}`)
}

func TestDenials_ofARealAPIServer(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e, start := audited(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	mine, second, idle := ns+"-mine", ns+"-second", ns+"-idle"
	configMap(t, e, ns, "free")
	labelled := configMap(t, e, ns, "labelled", strict+"=Always")
	one := configMap(t, e, ns, "one")
	two := configMap(t, e, ns, "two")
	configMap(t, e, ns, "unprotected")
	of := func(names, more string) string {
		return `{` + more + `protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: ` + ns + `}], resourceNames: ` + names + `}]}`
	}
	protect(t, e, mine, of(`[one, two]`, "reason: 'ours, "+idle+" (or whose)', "))
	protect(t, e, second, of(`[two]`, ""))
	protect(t, e, idle, of(`[nothing]`, ""))
	protect(t, e, ns+"-used", `{mode: Cascading, protectedResources: [{resourceSelector: [{apiVersion: apps/v1, kind: Deployment, namespace: `+ns+`, name: web}]}]}`)
	empty := e.Namespace(t)
	protect(t, e, empty, `{mode: Cascading, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: Namespace, name: `+empty+`}]}]}`)
	e.Apply(t, ns, deployment("web", "1"))
	done(t, e, "wait", "--for=create", "serviceaccount/default", "-n", empty, "--timeout=180s") // after the restart
	e.Apply(t, empty, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	g.Eventually(protectedBy(t, e, "configmap", "one", "-n", ns), "180s", "50ms").Should(gomega.Equal(mine))
	g.Eventually(protectedBy(t, e, "configmap", "two", "-n", ns), "180s", "50ms").Should(gomega.Equal("2_protections"))
	g.Eventually(label(t, e, "holdfast.dev/protected-while-used-by", "deployment", "web", "-n", ns), "180s", "50ms").ShouldNot(gomega.BeEmpty())

	// What does not count comes first, so that it has come when what counts has.
	user := "system:serviceaccount:" + ns + ":pipeline"
	e.Grant(t, ns, user, testkit.Rule("", []string{"configmaps"}, "delete"))
	mayBypass(t, e, user, mine)
	if err := e.As(t, user).Delete(t.Context(), one, client.DryRunAll); err != nil {
		t.Errorf("bypass: %v", err)
	}
	forbidden := func(c client.Client, o client.Object, options ...client.DeleteOption) {
		t.Helper()
		if err := c.Delete(t.Context(), o, options...); !apierrors.IsForbidden(err) {
			t.Errorf("delete %s: got %v, want a 403", o.GetName(), err)
		}
	}
	forbidden(e.Client, labelled)
	forbidden(e.As(t, "nobody"), one)
	done(t, e, "delete", "configmap", "unprotected", "-n", ns)

	forbidden(e.Client, two)                   // both
	forbidden(e.Client, one, client.DryRunAll) // mine
	done(t, e, "delete", "configmap", "labelled", "-n", ns, "--dry-run=client")
	refused(t, e, "delete", "deployment", "web", "-n", ns)
	refused(t, e, "delete", "namespace", empty) // by the webhook
	// The count is written while the leader writes the rest.
	const again = 10
	for i := range again {
		protect(t, e, second, of(`[two]`, fmt.Sprintf("reason: r%d, ", i)))
		forbidden(e.Client, one)
	}
	takeAwayLabel := map[string]any{strict: nil}
	if err := e.Client.Patch(t.Context(), labelled, mergeLabels(takeAwayLabel)); err != nil {
		t.Fatal(err)
	}
	// A collection stops at the first that is protected: free and labelled are gone.
	err := e.Client.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(ns))
	if !apierrors.IsForbidden(err) {
		t.Errorf("delete the collection: got %v, want a 403", err)
	}
	mustStand(t, e, one)

	want := fmt.Sprint(1 + 1 + again + 1)
	g.Eventually(denialsOf(t, e, mine), "180s", "200ms").Should(gomega.Equal(want))
	g.Eventually(denialsOf(t, e, second), "180s", "100ms").Should(gomega.Equal("1"))
	g.Eventually(denialsOf(t, e, ns+"-used"), "180s", "100ms").Should(gomega.Equal("1"))
	g.Eventually(denialsOf(t, e, empty), "180s", "100ms").Should(gomega.Equal("1"))
	g.Eventually(denialsOf(t, e, idle), "180s", "100ms").Should(gomega.Equal("0"))
	g.Eventually(statusOf(t, e, second, `{.status.observedGeneration} `+readyOf), "180s", "100ms").Should(gomega.Equal(fmt.Sprint(1+again) + " True Protected"))
	g.Expect(e.Metric(t, "holdfast_deletion_denials_total")).To(gomega.BeEquivalentTo(1 + 1 + 1 + 1 + again + 1))
	g.Expect(e.Kubectl(t, "get", "rdp", mine, "--no-headers").Stdout).To(gomega.MatchRegexp(`^` + mine + ` +Always +2 +` + want + ` +True `))

	// The end of a process writes what it has counted; the next one goes on.
	forbidden(e.Client, one)
	g.Eventually(func() float64 { return e.Metric(t, "holdfast_deletion_denials_total") }, "180s", "20ms").Should(gomega.BeEquivalentTo(1 + 1 + 1 + 1 + again + 1 + 1))
	if err := e.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	g.Expect(denialsOf(t, e, mine)()).To(gomega.Equal(fmt.Sprint(1 + 1 + again + 1 + 1)))
	start()
	forbidden(e.Client, one)
	g.Eventually(denialsOf(t, e, mine), "180s", "200ms").Should(gomega.Equal(fmt.Sprint(1 + 1 + again + 1 + 2)))
	mustStand(t, e, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: two.Name}})
}
