// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
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
	gomega.NewWithT(t).Eventually(func() error {
		return e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-deletion-holdfast"}, &admissionregistrationv1.ValidatingAdmissionPolicy{})
	}, "180s", "100ms").Should(gomega.Succeed(), "nobody puts the policy back")
}

// The configuration is a file here, and is followed there too; the acts are played one after the other,
// since there is one configuration.
func TestGuard_goesOn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(t *testing.T, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "deletion: {mode: Enforce}")
	e := testkit.New(t, testkit.Options{ManagerArgs: append([]string{"--config", file, "--config-map", ""}, slowLease...)})
	t.Run("when the file of its configuration changes", func(t *testing.T) { followsAFile(t, e, write) })
	t.Run("within its scope", func(t *testing.T) { staysInItsScope(t, e, write) })
	write(t, "deletion: {mode: Enforce}")
	gomega.NewWithT(t).Eventually(func() bool { return refuses(t, e, "default") }, "180s", "100ms").Should(gomega.BeTrue())
	t.Run("when a definition of its own is not served, and says so until it is again", func(t *testing.T) { tellsOfDefinitions(t, e) })
	t.Run("when the API server restarts", func(t *testing.T) {
		apiServerRestarts(t, e)
		deletePolicy(t, e)
		mustHeal(t, e)
	})
	t.Run("when the leader stops, since it gives the lease back", func(t *testing.T) {
		anotherTakesOver(t, e, (*manager.Process).Stop)
	})
}

func tellsOfDefinitions(t *testing.T, e *testkit.Env) {
	for _, served := range []string{"false", "true"} {
		out := e.Kubectl(t, "patch", "crd", "evictionpolicies.holdfast.dev", "--type=json", "-p", `[{"op":"replace","path":"/spec/versions/0/served","value":`+served+`}]`)
		if out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		gomega.NewWithT(t).Eventually(func() string {
			h := &v1alpha1.Holdfast{}
			if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, h); err != nil {
				return err.Error()
			}
			if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionDefinitionsServed); c != nil {
				return strings.ToLower(string(c.Status))
			}
			return ""
		}, "180s", "100ms").Should(gomega.Equal(served))
	}
}

func followsAFile(t *testing.T, e *testkit.Env, write func(*testing.T, string)) {
	g := gomega.NewWithT(t)
	e.Apply(t, "default", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {holdfast.dev/deletion-protected: Always}}}`)
	refused := func() bool { return refuses(t, e, "default") }
	g.Eventually(refused, "180s", "100ms").Should(gomega.BeTrue())
	write(t, "deletion: {mode: Audit}")
	g.Eventually(refused, "180s", "100ms").Should(gomega.BeFalse())

	write(t, "deletion: {mode: Sometimes}") // refused, and Audit stays
	condition := func() string {
		var h v1alpha1.Holdfast
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, &h); err != nil {
			t.Fatal(err)
		}
		if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionConfigurationAccepted); c != nil {
			return c.Message
		}
		return ""
	}
	g.Eventually(condition, "180s", "200ms").Should(gomega.ContainSubstring("deletion.mode"))
	if refused() {
		t.Error("a bad configuration took the place of the last good one")
	}
	if got := e.Metric(t, "holdfast_config_last_reload_successful"); got != 0 {
		t.Errorf("holdfast_config_last_reload_successful is %v, want 0", got)
	}
	write(t, "deletion: {mode: Enforce}")
	g.Eventually(refused, "180s", "100ms").Should(gomega.BeTrue())
	g.Eventually(condition, "180s", "200ms").ShouldNot(gomega.ContainSubstring("deletion.mode"))
}

// refuses says whether the ConfigMap x of a namespace cannot be deleted.
func refuses(t testing.TB, e *testkit.Env, ns string) bool {
	t.Helper()
	err := e.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x"}}, client.DryRunAll)
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	return err != nil
}

// A scope in the configuration reaches the policies: out of it nothing is
// refused, in every form that a pattern can have.
func staysInItsScope(t *testing.T, e *testkit.Env, write func(*testing.T, string)) {
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
		t.Run(tt.scope+" "+tt.deletion, func(t *testing.T) {
			if tt.deletion == "" {
				tt.deletion = "{}"
			}
			write(t, "scope: "+tt.scope+"\ndeletion: {scope: "+tt.deletion+"}")
			g.Eventually(func() string {
				var refused []string
				for _, ns := range []string{"team-a", "team-b", "team-a-test", "other"} {
					if refuses(t, e, ns) {
						refused = append(refused, ns)
					}
				}
				return strings.Join(refused, " ")
			}, "180s", "100ms").Should(gomega.Equal(tt.want))
		})
	}
}

// anotherTakesOver when the leader ends.
func anotherTakesOver(t *testing.T, e *testkit.Env, end func(*manager.Process) error) {
	leader := holder(t, e)
	second := e.StartManager(t)
	if err := second.Ready(t.Context()); err != nil {
		t.Errorf("a replica that does not lead is not ready: %v", err)
	}
	if err := end(e.Manager); err != nil {
		t.Fatal(err)
	}
	deletePolicy(t, e)
	mustHeal(t, e)
	if now := holder(t, e); now == leader || now == "" {
		t.Errorf("the lease is held by %q, as before", now)
	}
}

func TestLeader_anotherReplicaTakesOverWithinTheLeaseWhenItCrashes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	anotherTakesOver(t, testkit.New(t, testkit.Options{ManagerArgs: fastLease}), (*manager.Process).Kill)
}

// A leader that is stopped for longer than its lease, as on a node without CPU, believes to lead when it runs again, and leader
// election needs a while to end it.
func TestLeader_oneThatWasStoppedWritesNothingWhenAnotherLeads(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: fastLease})
	first, leader := e.Manager, holder(t, e)
	second := e.StartManager(t, fastLease...)
	send := func(p *manager.Process, s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(p.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	g := gomega.NewWithT(t)
	send(first, syscall.SIGSTOP)
	g.Eventually(func() string { return holder(t, e) }, "180s", "100ms").ShouldNot(gomega.Or(gomega.BeEmpty(), gomega.Equal(leader)))
	deletePolicy(t, e)
	mustHeal(t, e)

	send(second, syscall.SIGSTOP) // so that whatever is written is of the first
	deletePolicy(t, e)
	send(first, syscall.SIGCONT)
	g.Eventually(first.Done(), "180s").Should(gomega.BeClosed(), "it goes on as if it led")
	err := e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-deletion-holdfast"}, &admissionregistrationv1.ValidatingAdmissionPolicy{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the policy is put back by a replica that does not lead any more: %v", err)
	}
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
}

// apiServerRestarts, and what it has of Holdfast is in force from the first request on.
func apiServerRestarts(t *testing.T, e *testkit.Env) {
	t.Helper()
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
}

func TestAPIServer_restartsAndHangs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: fastLease})
	apiServerRestarts(t, e)
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

// Two that each believe to lead, as for a moment around a crash: they want the
// same, so that what one writes the other leaves alone.
func TestLeader_twoAtOnceDoNotFight(t *testing.T) {
	testkit.Long(t)
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

// One of them was started without leader election by mistake. Neither knows the other; both see that what they write does not
// stay, and say the same of it.
func TestLeader_twoConfigurationsAtOnceSaySo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	args := func(text string) []string {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(config.Empty+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"--leader-elect=false", "--config-map", "", "--webhook-url", "https://127.0.0.1:9443", "--config", file}
	}
	e := testkit.New(t, testkit.Options{ManagerArgs: args("deletion: {mode: Enforce}\n")})
	other := e.StartManager(t, args("deletion: {mode: Warn}\n")...)
	says := func() string {
		h := &v1alpha1.Holdfast{}
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, h); err != nil {
			return err.Error()
		}
		if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionAdmissionInstalled); c != nil {
			return c.Reason
		}
		return ""
	}
	g := gomega.NewWithT(t)
	inARow := 0 // one knows a moment before the other
	g.Eventually(func() int {
		inARow++
		if says() != v1alpha1.ReasonContested {
			inARow = 0
		}
		return inARow
	}, "180s", "100ms").Should(gomega.BeNumerically(">=", 100), "they do not both say so")
	if err := other.Stop(); err != nil {
		t.Fatal(err)
	}
	g.Eventually(says, "180s", "1s").Should(gomega.Equal(v1alpha1.ReasonInstalled))
}

// As on Kubernetes 1.29, and where somebody has turned the policies off.
func TestStart_onAnAPIServerWithoutPolicies(t *testing.T) {
	testkit.Long(t)
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
