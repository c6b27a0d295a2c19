// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// A crashed leader's fast lease runs out while mustHeal waits; a slow one does
// not. Fast is slow enough to be renewed on a busy machine.
var (
	fastLease = []string{"--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=1s"}
	slowLease = []string{"--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=90s", "--leader-elect-retry-period=1s"}
)

func holder(t testing.TB, e *testkit.Env) string {
	t.Helper()
	var lease coordinationv1.Lease
	err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: "holdfast-system", Name: "holdfast-guard"}, &lease)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// deletePolicy deletes a policy by hand; whoever leads puts it back.
func deletePolicy(t testing.TB, e *testkit.Env) {
	t.Helper()
	if out := e.Kubectl(t, "delete", "validatingadmissionpolicy", "holdfast-deletion-holdfast"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

func mustHeal(t testing.TB, e *testkit.Env) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() int {
		return e.Kubectl(t, "get", "validatingadmissionpolicy", "holdfast-deletion-holdfast").Code
	}, "180s", "100ms").Should(gomega.BeZero(), "nobody puts the policy back")
}

func TestLeader_anotherReplicaTakesOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		end  func(*manager.Process) error
	}{
		{name: "at once when the leader stops, since it gives the lease back", args: slowLease, end: (*manager.Process).Stop},
		{name: "within the lease when the leader crashes", args: fastLease, end: (*manager.Process).Kill},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := testkit.New(t, testkit.Options{ManagerArgs: tt.args})
			leader := holder(t, e)
			second := e.StartManager(t, tt.args...)
			if err := second.Ready(t.Context()); err != nil {
				t.Errorf("a replica that does not lead is not ready: %v", err)
			}
			if err := tt.end(e.Manager); err != nil {
				t.Fatal(err)
			}
			deletePolicy(t, e)
			mustHeal(t, e)
			if now := holder(t, e); now == leader || now == "" {
				t.Errorf("the lease is held by %q, as before", now)
			}
		})
	}
}

// Two that each believe to lead, as for a moment around a crash: they want the
// same, so that what one writes the other leaves alone.
func TestLeader_twoAtOnceDoNotFight(t *testing.T) {
	t.Parallel()
	// Replicas have one address, that of their Service.
	args := []string{"--leader-elect=false", "--config-map", "", "--webhook-url", "https://127.0.0.1:9443"}
	e := testkit.New(t, testkit.Options{ManagerArgs: args})
	g := gomega.NewWithT(t)
	// One has repaired something of which the other knows nothing.
	deletePolicy(t, e)
	mustHeal(t, e)
	first, second := e.Manager, e.StartManager(t, args...)
	writes := func() (n float64) {
		for _, e.Manager = range []*manager.Process{first, second} {
			n += e.Writes(t)
		}
		return n
	}
	deletePolicy(t, e)
	mustHeal(t, e)
	var before float64
	g.Eventually(func() bool {
		last := before
		before = writes()
		return before == last
	}, "180s", "1s").Should(gomega.BeTrue(), "they do not come to rest")
	g.Consistently(writes, "5s", "500ms").Should(gomega.Equal(before))
}

func TestAPIServer_restartsAndHangs(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: fastLease})
	if err := e.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{}
	cm.Name, cm.Namespace, cm.Labels = "kept", "default", map[string]string{"holdfast.dev/deletion-protected": "Always"}
	if err := e.Client.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Delete(t.Context(), cm); !apierrors.IsForbidden(err) {
		t.Errorf("the first request after a restart of the API server: got %v, want a 403", err)
	}
	// A leader that lost its lease ends, so that whatever runs it starts it
	// again; a replica that did not goes on.
	restart(t, e)
	deletePolicy(t, e)
	mustHeal(t, e)

	resume, err := e.PauseAPIServer()
	if err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	g.Eventually(e.Manager.Done(), "180s").Should(gomega.BeClosed(), "a leader that cannot renew its lease goes on as if it led")
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	restart(t, e)
	deletePolicy(t, e)
	mustHeal(t, e)
}

// restart starts the manager again if it has ended, as a kubelet does.
func restart(t testing.TB, e *testkit.Env) {
	t.Helper()
	select {
	case <-e.Manager.Done():
		e.Manager = e.StartManager(t, fastLease...)
	default:
	}
}

// The configuration can be a file as well, and is followed there too.
func TestConfiguration_ofAFileIsFollowed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(mode string) {
		t.Helper()
		text := "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\ndeletion: {mode: " + mode + "}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Enforce")
	e := testkit.New(t, testkit.Options{ManagerArgs: []string{"--config", file, "--config-map", ""}})
	g := gomega.NewWithT(t)
	e.Apply(t, "default", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {holdfast.dev/deletion-protected: Always}}}`)
	refused := func() bool {
		return e.Kubectl(t, "delete", "configmap/x", "--dry-run=server").Code != 0
	}
	g.Eventually(refused, "180s", "100ms").Should(gomega.BeTrue())
	write("Audit")
	g.Eventually(refused, "180s", "100ms").Should(gomega.BeFalse())

	write("Sometimes") // refused, and Audit stays
	condition := func() string {
		return e.Kubectl(t, "get", "holdfast", "holdfast", "-o", `jsonpath={.status.conditions[?(@.type=="ConfigurationAccepted")].message}`).Stdout
	}
	g.Eventually(condition, "180s", "200ms").Should(gomega.ContainSubstring("deletion.mode"))
	if refused() {
		t.Error("a bad configuration took the place of the last good one")
	}
	if got := e.Metric(t, "holdfast_config_last_reload_successful"); got != 0 {
		t.Errorf("holdfast_config_last_reload_successful is %v, want 0", got)
	}
	write("Enforce")
	g.Eventually(refused, "180s", "100ms").Should(gomega.BeTrue())
	g.Eventually(condition, "180s", "200ms").ShouldNot(gomega.ContainSubstring("deletion.mode"))
}

// While the serving certificate and its authority are replaced again and again,
// every call reaches the webhook: it alone refuses this configuration, and it
// fails open, so that a call that failed would show as a write that passes.
func TestCertificates_rotateWithoutAFailedCall(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	write := func(body string, args ...string) testkit.Output {
		return e.KubectlInput(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast, namespace: holdfast-system}, data: {config.yaml: "`+
			`{apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration, `+body+`}"}}`,
			append([]string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, args...)...)
	}
	const short = "certificates: {validity: 60s, authorityValidity: 75s, overlap: 5s}"
	if out := write(short); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	g.Eventually(func() bool {
		out := write(short+", deletion: {mode: Sometimes}", "--dry-run=server")
		if !strings.Contains(out.Stderr, "deletion.mode") {
			t.Errorf("a call did not reach the webhook: %s%s", out.Stdout, out.Stderr)
		}
		return e.Metric(t, "holdfast_certificate_rotations_total", testkit.Label("kind", "authority")) >= 2 &&
			e.Metric(t, "holdfast_certificate_rotations_total", testkit.Label("kind", "serving")) >= 3
	}, "240s", "200ms").Should(gomega.BeTrue(), "the certificates do not rotate")
}

// In a cluster the API server reaches the webhooks by a Service, under whose
// name the certificate must be. Here the Service stands for this machine.
func TestWebhooks_areReachedByService(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	e.Apply(t, "holdfast-system", `{apiVersion: v1, kind: Service, metadata: {name: holdfast-guard}, spec: {type: ExternalName, externalName: localhost, ports: [{port: `+port+`}]}}`)
	e.StartManager(t, "--webhook-url", "", "--webhook-bind-address", address, "--webhook-service-port", port)
	gomega.NewWithT(t).Eventually(func() string {
		return e.KubectlInput(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast}, data: {config.yaml: "no: configuration"}}`,
			"apply", "--server-side", "--force-conflicts", "--dry-run=server", "-n", "holdfast-system", "-f", "-").Stderr
	}, "180s", "200ms").Should(gomega.ContainSubstring("data[config.yaml].apiVersion"), "the webhook is not called")
}

func TestStart_sayWhatIsMissing(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
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
			p := e.StartManagerNotReady(t, tt.args...)
			gomega.NewWithT(t).Eventually(p.Done(), "180s").Should(gomega.BeClosed(), "it does not end")
			if !strings.Contains(p.LogTail(), tt.want) {
				t.Errorf("its last words are\n%s\nwant %q", p.LogTail(), tt.want)
			}
		})
	}
}

// As on Kubernetes 1.29, and where somebody has turned the policies off.
func TestStart_onAnAPIServerWithoutPolicies(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true, Cluster: cluster.Options{
		RuntimeConfig: []string{"admissionregistration.k8s.io/v1/validatingadmissionpolicies=false", "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings=false"},
		APIServerArgs: []string{"--disable-admission-plugins=ValidatingAdmissionPolicy"},
	}})
	e.Kubectl(t, "delete", "crd", "--all")
	p := e.StartManagerNotReady(t)
	gomega.NewWithT(t).Eventually(p.Done(), "180s").Should(gomega.BeClosed(), "it does not end")
	const want = "the API server does not serve *v1.ValidatingAdmissionPolicy: Holdfast needs Kubernetes 1.30 or newer"
	if !strings.Contains(p.LogTail(), want) {
		t.Errorf("its last words are\n%s\nwant %q", p.LogTail(), want)
	}
	if left := e.Kubectl(t, "get", "crd", "-o", "name").Stdout; left != "" {
		t.Errorf("it leaves %s", left)
	}
}

func TestStart_refusesASecondHoldfast(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	e.Apply(t, "", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: holdfast-guard},
		webhooks: [{name: eviction.holdfast.dev, admissionReviewVersions: [v1], sideEffects: NoneOnDryRun, failurePolicy: Ignore,
			clientConfig: {service: {namespace: elsewhere, name: holdfast-guard}}, rules: []}]}`)
	p := e.StartManagerNotReady(t)
	gomega.NewWithT(t).Eventually(p.Done(), "180s").Should(gomega.BeClosed(), "it does not end")
	if !strings.Contains(p.LogTail(), "another Holdfast is installed, in namespace elsewhere") {
		t.Errorf("its last words are\n%s", p.LogTail())
	}
}

// A scope in the configuration reaches the policies: out of it nothing is
// refused, in every form that a pattern can have.
func TestScope_boundsThePolicies(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	for _, ns := range []string{"team-a", "team-b", "team-a-test", "other"} {
		e.Apply(t, "default", `{apiVersion: v1, kind: Namespace, metadata: {name: `+ns+`}}`)
		e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {holdfast.dev/deletion-protected: Always}}}`)
	}
	tests := []struct{ scope, deletion, want string }{
		{scope: "{}", want: "team-a team-b team-a-test other"},
		{scope: "{namespaces: [team-a, other]}", want: "team-a other"},
		{scope: "{namespaces: ['team-*', '!*-test']}", want: "team-a team-b"},
		{scope: "{namespaces: ['re:team-[a-z]']}", want: "team-a team-b"},
		{scope: "{namespaces: ['!other']}", want: "team-a team-b team-a-test"},
		{scope: "{namespaces: ['team-*', other]}", deletion: "{namespaces: [other, team-b, default]}", want: "team-b other"},
		{scope: "{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-b}}}", want: "team-b"},
	}
	for _, tt := range tests {
		t.Run(tt.scope+" "+tt.deletion, func(t *testing.T) { // one after the other: there is one configuration
			if tt.deletion == "" {
				tt.deletion = "{}"
			}
			e.Apply(t, "holdfast-system", `
apiVersion: v1
kind: ConfigMap
metadata: {name: holdfast}
data:
  config.yaml: |
    apiVersion: config.holdfast.dev/v1alpha1
    kind: HoldfastConfiguration
    scope: `+tt.scope+`
    deletion: {scope: `+tt.deletion+`}
`)
			g.Eventually(func() string {
				var refused []string
				for _, ns := range []string{"team-a", "team-b", "team-a-test", "other"} {
					if e.Kubectl(t, "delete", "-n", ns, "configmap/x", "--dry-run=server").Code != 0 {
						refused = append(refused, ns)
					}
				}
				return strings.Join(refused, " ")
			}, "180s", "100ms").Should(gomega.Equal(tt.want))
		})
	}
}
