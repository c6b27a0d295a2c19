// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package runbooks

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// pages in the order in which they happen: the last one uninstalls.
var pages = []struct {
	file    string
	happens func(*testing.T, *book, *page.Page)
}{
	{"manager-down.md", managerDown},
	{"holdfast-is-the-incident.md", theIncident},
	{"policy-deleted.md", policyDeleted},
	{"configuration-broken.md", configurationBroken},
	{"webhook-port.md", webhookPort},
	{"leader-killed.md", leaderKilled},
	{"api-server-slow.md", apiServerSlow},
	{"etcd-restarted.md", etcdRestarted},
	{"certificate-expired.md", certificateExpired},
	{"uninstall-stuck.md", uninstallStuck},
}

func TestRunbooks(t *testing.T) {
	t.Parallel()
	b := open(t)
	for _, p := range pages {
		t.Run(p.file, func(t *testing.T) { // one after the other: each breaks the cluster
			p.happens(t, b, page.Read(t, "docs/runbooks/"+p.file))
		})
	}
}

func managerDown(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	m := b.start(t)
	ns := b.kept(t)
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Told(t, see, b.deletedNamespace(t))
	b.isGuarded(t, ns)
	b.with("NAMESPACE="+b.Namespace(t)).Does(t, p, "Let one namespace go meanwhile")
	b.isGuarded(t, ns)
	b.start(t)
	b.reader.Does(t, p, isOver)
}

// It is stopped with its manager dead, which is the harder case.
func theIncident(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	m := b.start(t)
	ns := b.kept(t)
	p.Told(t, see, b.refused(t, "delete", "-n", ns, "configmap/kept"))
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	b.reader.Does(t, p, do)
	if err := b.WaitNotEnforced(t.Context()); err != nil {
		t.Error(err)
	}
	b.done(t, "delete", "-n", ns, "configmap/kept", "--dry-run=server")
	b.reader.Does(t, p, isOver)
	b.startWithoutAnchor(t)
	b.reader.Does(t, p, "Start it again")
	b.ready(t)
	b.isGuarded(t, ns)

	// With the manager dead and the garbage collector frozen, what the anchor owned stays in force.
	if err := b.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	resume, err := b.PauseControllerManager()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := resume(); err != nil {
			t.Error(err)
		}
	}()
	b.done(t, "annotate", "clusterrole", admission.AnchorName, v1alpha1.StopAnnotation+"="+admission.AnchorName)
	b.done(t, "delete", "clusterrole", admission.AnchorName)
	b.isGuarded(t, ns)
	b.reader.Does(t, p, "If it does not end", isOver)
	b.done(t, "delete", "-n", ns, "configmap/kept", "--dry-run=server")
	b.startWithoutAnchor(t)
	b.reader.Does(t, p, "Start it again")
}

// startWithoutAnchor is start where nothing can be in force.
func (b *book) startWithoutAnchor(t *testing.T) {
	t.Helper()
	b.Manager = b.StartManager(t)
	t.Cleanup(func() { _ = b.Manager.Stop() })
}

func policyDeleted(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	b.start(t)
	ns := b.kept(t)
	b.done(t, "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "holdfast-deletion-holdfast")
	eventually(t, func() string { return b.done(t, "get", "events", "-A", "--field-selector", "reason=Restored") }).
		Should(gomega.ContainSubstring("holdfast-deletion-holdfast"))
	b.reader.Does(t, p, see, do)
	b.ready(t)
	b.with("NAMESPACE="+ns).Does(t, p, isOver)
}

const sometimes = `{"data":{"config.yaml":"apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\ndeletion:\n  mode: Sometimes\n"}}`

func configurationBroken(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	m := b.start(t, patient...)
	ns := b.kept(t)
	write := []string{"patch", "configmap", "holdfast", "-n", "holdfast-system", "--type=merge", "-p", sometimes}
	defer b.done(t, "patch", "configmap", "holdfast", "-n", "holdfast-system", "--type=merge", "-p",
		`{"data":{"config.yaml":"apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n"}}`)
	told := b.refused(t, write...)

	// While its only replica hangs nobody is asked, because the webhook fails open.
	if err := syscall.Kill(m.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.done(t, write...)
	if err := syscall.Kill(m.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	condition := func() string {
		return b.done(t, "get", "holdfast", "holdfast", "-o",
			`jsonpath={range .status.conditions[?(@.type=="ConfigurationAccepted")]}{.reason}: {.message}{"\n"}{end}`)
	}
	eventually(t, condition).Should(gomega.ContainSubstring("Sometimes"))
	b.isGuarded(t, ns)
	if got := b.Metric(t, "holdfast_config_last_reload_successful"); got != 0 {
		t.Errorf("holdfast_config_last_reload_successful is %v, want 0", got)
	}
	second := b.StartManagerNotReady(t, "--webhook-bind-address", loopback.FreeAddress(t))
	eventually(t, second.Done).Should(gomega.BeClosed(), "it starts on a configuration that is not valid")
	p.Told(t, see, told, condition(), second.LogTail())
	b.isGuarded(t, ns)

	b.with("EDITOR=sed -i s/Sometimes/Enforce/").Does(t, p, do)
	b.reader.Does(t, p, isOver)
	b.isGuarded(t, ns)
}

func leaderKilled(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	first := b.start(t)
	ns := b.kept(t)
	was := b.leader(t)
	second := b.StartManager(t, "--webhook-bind-address", loopback.FreeAddress(t))
	t.Cleanup(func() { _ = second.Stop() })
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	b.isGuarded(t, ns)
	// Behind a Service its calls reach the other replica; here one takes its address.
	third := b.StartManager(t)
	t.Cleanup(func() { _ = third.Stop() })
	eventually(t, func() string { return b.leader(t) }).ShouldNot(gomega.Equal(was))
	b.reader.Does(t, p, do, isOver)
	b.done(t, "delete", "validatingadmissionpolicy", "holdfast-deletion-holdfast")
	b.done(t, "wait", "--for=create", "validatingadmissionpolicy/holdfast-deletion-holdfast", "--timeout=180s")
	b.ready(t)
}

func apiServerSlow(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	m := b.start(t)
	ns := b.kept(t)
	b.deleteAndMakeAgain(t) // so that a webhook was asked, of which the API server has numbers
	resume, err := b.PauseAPIServer()
	if err != nil {
		t.Fatal(err)
	}
	said := b.refused(t, "get", "configmaps", "-n", ns, "--request-timeout=2s")
	eventually(t, m.Done).Should(gomega.BeClosed(), "a leader that cannot renew its lease goes on")
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	p.Told(t, see, said)
	eventually(t, func() int { return b.Kubectl(t, "get", "--raw", "/readyz").Code }).Should(gomega.BeZero())
	b.isGuarded(t, ns)
	b.start(t) // as a kubelet does
	b.reader.Does(t, p, do, isOver)
}

func (b *book) deleteAndMakeAgain(t *testing.T) {
	t.Helper()
	b.done(t, "delete", "namespace", b.Namespace(t), "--wait=false")
}

func etcdRestarted(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	m := b.start(t)
	ns := b.kept(t)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	p.Told(t, see, b.refused(t, "get", "configmaps", "-n", ns))
	// The manager runs on, or ends because it cannot renew its lease.
	c, err := cluster.Start(t.Context(), b.options)
	if err != nil {
		t.Fatal(err)
	}
	b.Cluster = c
	b.isGuarded(t, ns)
	select {
	case <-m.Done():
		b.start(t)
	default:
	}
	b.reader.Does(t, p, do, isOver)
}

// certificateExpired has Holdfast lose the right to write its Secret, and waits until the
// certificate runs out, which takes a minute.
func certificateExpired(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	b.start(t, patient...)
	ns := b.kept(t)
	short := func(certificates string) {
		b.done(t, "patch", "configmap", "holdfast", "-n", "holdfast-system", "--type=merge", "-p",
			`{"data":{"config.yaml":"{apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration`+certificates+`}"}}`)
	}
	short(", certificates: {validity: 60s}")
	left := func() float64 {
		return b.Metric(t, "holdfast_certificate_expiry_timestamp_seconds") // of the certificate and of its authority
	}
	before := left()
	eventually(t, left).Should(gomega.BeNumerically("<", before), "the certificate is not replaced by a short one")
	b.done(t, "patch", "role", "holdfast-guard", "-n", "holdfast-system", "--type=json", "-p",
		`[{"op":"replace","path":"/rules/1/verbs","value":["get","list","watch"]},{"op":"replace","path":"/rules/2/verbs","value":["get"]}]`)
	eventually(t, func() string {
		return b.done(t, "get", "holdfast", "holdfast", "-o", `jsonpath={.status.conditions[?(@.type=="CertificateValid")].reason}`)
	}).WithTimeout(3 * time.Minute).Should(gomega.Equal("Expired"))
	// Connections that are open are not checked again.
	if err := b.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := b.deletedNamespace(t)
	p.Told(t, see, said)
	if !strings.Contains(said, "expired") {
		t.Error(said)
	}
	b.isGuarded(t, ns)
	b.reader.Does(t, p, do, isOver)
	short("")
}

func uninstallStuck(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	b.start(t)
	b.done(t, "apply", "--server-side", "-f", root+"/config/namespaces/config-management-system.yaml", "-f", root+"/config/crd/configsync")
	b.done(t, "wait", "--for=condition=Established", "crd/rootsyncs.configsync.gke.io", "--timeout=180s")
	b.Apply(t, "config-management-system", `{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: left, finalizers: [configsync.gke.io/reconciler]}}`)
	p.Told(t, see, b.refused(t, "delete", "namespace", "holdfast-system"))
	b.done(t, "delete", "namespace", "config-management-system", "--wait=false")
	b.done(t, "wait", "--for=jsonpath={.status.phase}=Terminating", "namespace/config-management-system", "--timeout=180s")
	b.reader.Does(t, p, do)
	if err := b.WaitNotEnforced(t.Context()); err != nil {
		t.Error(err)
	}
	b.reader.Does(t, p, isOver)
}
