// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"crypto/x509"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/cert"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/nodes"
	"github.com/holdfast-dev/holdfast/internal/testkit/service"
)

// trouble is a cluster whose replicas have one address, with a node for each drain
// and one that takes all pods.
type trouble struct {
	*testkit.Env
	service *service.Service
	nodes   *nodes.Nodes
	// all is the test that the replicas end with.
	all testing.TB
}

// What goes wrong while pods wait for their operator, one after the other in one
// cluster.
func TestOutage_whilePodsWait(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := service.New(t)
	c := &trouble{all: t, service: s, Env: testkit.New(t, testkit.Options{NoManager: true, ManagerArgs: []string{
		"--webhook-url", s.URL(),
		// No leader of a busy machine loses its lease; that of a dead one is deleted.
		"--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=90s", "--leader-elect-retry-period=1s",
	}})}
	// The guard gives up early enough that its answer arrives on a slow machine too.
	configure(t, c.Env, "eviction: {onOutage: Refuse, requestTimeout: 2s}")
	c.start()
	c.nodes = nodes.Start(t, c.Env)
	c.nodes.Add(t, "spare")
	failsClosed(t, c.Env)

	t.Run("the API server does not take what the guard writes", c.writesFail)
	t.Run("the only replica is killed and started again", c.nobodyAnswers)
	t.Run("another replica leads, then the guard is turned off", c.anotherLeads)
	t.Run("certificate and authority are replaced", c.certificatesRotate)
}

// start starts one more replica.
func (c *trouble) start() {
	c.Manager = c.StartManager(c.all)
	c.service.Add(c.Manager)
}

// brokers run on a node of that name, and are guarded by the policy for Strimzi.
func (c *trouble) brokers(t testing.TB, node string, count int) []*corev1.Pod {
	t.Helper()
	ns := c.Namespace(t)
	c.nodes.Add(t, node)
	strimziPolicy(t, c.Env, ns)
	pods := brokers(t, c.nodes, ns, node, count)
	gomega.NewWithT(t).Eventually(func() error { return evict(t, c.Env, ns, pods[0].Name, dryRun) }, "180s", "100ms").
		Should(gomega.Satisfy(apierrors.IsNotFound), "the API server knows the guard, which knows the policy")
	return pods
}

// hears waits until a drain says something of a pod.
func hears(t testing.TB, drain *testkit.Running, pod *corev1.Pod, what string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(drain.Stderr, "180s", "50ms").
		Should(gomega.MatchRegexp(`pods/"` + pod.Name + `" -n "` + pod.Namespace + `".*` + regexp.QuoteMeta(what)))
}

// A drainer is told to come again, whatever the API server answers to the guard,
// and the drain ends by itself.
func (c *trouble) writesFail(t *testing.T) {
	pods := c.brokers(t, "unwritable", 4)
	tests := []struct {
		code int32
		said string
	}{
		{code: 403, said: "denied the request: not now"},
		{code: 409, said: "denied the request: not now"},
		{code: 500, said: "denied the request: not now"},
		{code: testkit.Hangs, said: "context deadline exceeded"},
	}
	codes := map[string]int32{}
	for i, tt := range tests {
		codes[pods[i].Name] = tt.code
	}
	f := testkit.NewFaults(t, c.Env, pods[0].Namespace, "pods", codes)
	roller := c.nodes.Roller(t, nodes.RollerOptions{Namespaces: []string{pods[0].Namespace}, Delay: 100 * time.Millisecond})
	drain := c.nodes.StartDrain(t, "unwritable", "--timeout=180s")
	for i, tt := range tests {
		hears(t, drain, pods[i], "could not judge this eviction: patch pod: ")
		hears(t, drain, pods[i], tt.said)
		f.Lift(pods[i].Name)
	}
	if out := drain.Wait(t); out.Code != 0 {
		t.Errorf("the drain ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	onceEach(t, roller, pods)
}

// Where the configuration refuses what nobody judges, the drain in whose middle the
// guard goes fails, and the next one ends what it has begun.
func (c *trouble) nobodyAnswers(t *testing.T) {
	pods := c.brokers(t, "unanswered", 3)
	drain := c.nodes.StartDrain(t, "unanswered", "--timeout=180s")
	for _, p := range pods {
		hears(t, drain, p, "Strimzi's operator moves the pod")
	}
	if err := c.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	// The operator goes on with what it was asked for, too slowly for all to be gone
	// when the drainer comes again.
	roller := c.nodes.Roller(t, nodes.RollerOptions{Namespaces: []string{pods[0].Namespace}, Delay: 3 * time.Second})
	if out := drain.Wait(t); out.Code == 0 || !strings.Contains(out.Stderr, `failed calling webhook "strimzi-drain-cleaner.strimzi.io"`) {
		t.Errorf("while nobody answers the drain ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	if out := c.Kubectl(t, "delete", "lease", "-n", "holdfast-system", "holdfast-guard"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	c.start()
	if out := c.nodes.Drain(t, "unanswered", "--timeout=180s"); out.Code != 0 {
		t.Errorf("the drain after that ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	gomega.NewWithT(t).Eventually(roller.Rolls, "180s", "100ms").Should(gomega.HaveLen(len(pods)))
	onceEach(t, roller, pods)
}

// What waits is known to whoever leads next, since it is written on the pods; and
// without a guard they go as if there had never been one.
func (c *trouble) anotherLeads(t *testing.T) {
	pods := c.brokers(t, "waiting", 3)
	held := waiting(t, c.Env, pods[0].Namespace)
	g := gomega.NewWithT(t)
	drain := c.nodes.StartDrain(t, "waiting", "--timeout=180s")
	for _, p := range pods {
		hears(t, drain, p, "Strimzi's operator moves the pod")
	}
	g.Eventually(held, "180s", "100ms").Should(gomega.BeEquivalentTo(3))
	leader := c.Manager
	c.start()
	if err := leader.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Delete(t.Context(), pods[0]); err != nil {
		t.Fatal(err)
	}
	g.Eventually(held, "180s", "100ms").Should(gomega.BeEquivalentTo(2), "nobody goes on counting what waits")

	configure(t, c.Env, "eviction: {mode: 'Off'}")
	if out := drain.Wait(t); out.Code != 0 {
		t.Errorf("the drain of what the guard has let go of ends with %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	c.nodes.WaitGone(t, pods...)
}

// Each eviction is a call on a new connection, and is refused by the guard. It
// fails open, so that one that fails would show as an eviction that passes.
func (c *trouble) certificatesRotate(t *testing.T) {
	ns := c.Namespace(t)
	p := pod(t, c.Env, ns, "a-kafka-0", kafka("a-kafka"))
	configure(t, c.Env, "certificates: {validity: 60s, authorityValidity: 61s, overlap: 8s}")
	refused := gomega.MatchError(gomega.ContainSubstring("will be rolled"))
	g := gomega.NewWithT(t)
	g.Eventually(func() error { return evict(t, c.Env, ns, p.Name, dryRun) }, "180s", "100ms").Should(refused)
	authorities := func() []*x509.Certificate {
		out, err := cert.ParseCertsPEM(guardOf(t, c.Env).ClientConfig.CABundle)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first, calls := authorities()[0], 0
	g.Eventually(func() bool {
		c.service.Cut(t)
		g.Expect(evict(t, c.Env, ns, p.Name, dryRun)).To(refused, "after %d evictions", calls)
		calls++
		return calls%10 == 0 && !slices.ContainsFunc(authorities(), first.Equal) // it is not trusted any more
	}, "180s", "20ms").Should(gomega.BeTrue(), "the authority is not replaced")
}
