// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak runs all features together under mixed load, while managers are killed and
// the API server restarts, and then looks whether anything was lost, leaks, or is written
// for nothing. "make test" does it for a minute, "make soak" for half an hour.
package soak

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/service"
)

var (
	lasts = flag.Duration("soak.for", time.Minute, "how long the load lasts")
	many  = flag.Int("soak.namespaces", 50, "how many namespaces there are")
)

const (
	patience = "240s"
	often    = "500ms"

	// rest is how long nothing may be written, and calm how long nothing was before that:
	// what is counted is told of once a minute.
	rest, calm = 20 * time.Second, 65 * time.Second

	users = "system:serviceaccount:" + manager.Namespace + ":holdfast-"
)

// configuration has all features on.
const configuration = `
deletion: {mode: Enforce}
eviction: {mode: Enforce, scope: {namespaces: ["s-*"]}}
hierarchy: {mode: Enforce, includedNamespaces: "s-.*", brake: {percent: 100}}
featureGates: {ServiceAccountPatching: true}
serviceAccounts: {mode: Enforce, scope: {namespaces: ["s-*"]}}
`

// soak is the cluster and what is to be in it.
type soak struct {
	*testkit.Env
	*gomega.WithT
	t      *testing.T
	log    *auditlog.Log
	git    *gitserver.Server
	behind *service.Service
	guards []*manager.Process

	// down is held for reading by who makes requests, and for writing while the API server
	// restarts: what fails then tells nothing.
	down sync.RWMutex
}

func TestSoak(t *testing.T) {
	t.Parallel()
	log, options, err := auditlog.New(t.TempDir(),
		auditv1.PolicyRule{Level: auditv1.LevelMetadata, Users: []string{users + "guard", users + "sync"}, Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &soak{WithT: gomega.NewWithT(t), t: t, log: log, git: gitserver.Start(t, gitserver.Options{}), behind: service.New(t)}
	s.Env = testkit.New(t, testkit.Options{Cluster: options, NoManager: true, ProductionPauses: true, ManagerArgs: []string{
		"--webhook-url", s.behind.URL(),
		// A killed leader is to be followed soon, and none is to lose its lease on a busy machine.
		"--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s", "--leader-elect-retry-period=2s",
	}})
	s.install()
	s.start()
	s.start()
	s.Sync = s.StartSync(t)
	work := s.lay()
	s.settled(work)
	fresh := s.use()

	began := time.Now()
	load, stop := context.WithTimeout(t.Context(), *lasts)
	defer stop()
	var all sync.WaitGroup
	for i, w := range work {
		all.Go(func() { s.works(load, w, rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	s.breakThings(load)
	all.Wait()
	t.Logf("load for %s", time.Since(began).Round(time.Second))
	for _, w := range work {
		t.Logf("%s: %d times", w.name(), w.done())
		if w.done() == 0 {
			t.Errorf("%s: never", w.name())
		}
	}

	s.settled(work)
	s.quiet()
	s.leaksNothing(fresh)
}

// works does one kind of work again and again, and tells of what comes out otherwise than
// it should.
func (s *soak) works(ctx context.Context, w work, rng *rand.Rand) {
	for ctx.Err() == nil {
		s.down.RLock()
		err := w.once(context.WithoutCancel(ctx), rng)
		s.down.RUnlock()
		if err != nil {
			s.t.Errorf("%s: %v", w.name(), err)
			return
		}
	}
}

// breakThings kills and restarts for the first two thirds of the load. The last third is for
// processes that live through it.
func (s *soak) breakThings(ctx context.Context) {
	end, _ := ctx.Deadline()
	end = end.Add(-*lasts / 3)
	pause := max(*lasts/20, 5*time.Second)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; time.Until(end) > pause; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		switch n % 4 {
		case 0:
			s.killGuard(rng.IntN(len(s.guards)))
		case 1:
			if err := s.Sync.Kill(); err != nil {
				s.t.Error(err)
			}
			s.Sync = s.StartSync(s.t)
		case 2:
			s.rollGuard(rng.IntN(len(s.guards)))
		case 3:
			s.restartAPIServer()
		}
	}
}

// killGuard has a replica crash; another takes its place.
func (s *soak) killGuard(i int) {
	old := s.guards[i]
	if err := old.Kill(); err != nil {
		s.t.Error(err)
	}
	s.behind.Remove(old)
	s.guards = append(s.guards[:i:i], s.guards[i+1:]...)
	s.start()
}

// rollGuard replaces a replica as a rollout does.
func (s *soak) rollGuard(i int) {
	old := s.guards[i]
	s.guards = append(s.guards[:i:i], s.guards[i+1:]...)
	s.start()
	s.behind.Remove(old)
	if err := old.Stop(); err != nil {
		s.t.Error(err)
	}
}

// start starts a replica of the guard. Guards are those that run.
func (s *soak) start() {
	p := s.StartManager(s.t)
	s.behind.Add(p)
	s.guards = append(s.guards, p)
	s.Manager = p
}

func (s *soak) restartAPIServer() {
	s.down.Lock()
	defer s.down.Unlock()
	if err := s.RestartAPIServer(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	// Guards that lost their lease have ended, as they should; something starts them again.
	for i := 0; i < len(s.guards); {
		select {
		case <-s.guards[i].Done():
			s.behind.Remove(s.guards[i])
			s.guards = append(s.guards[:i:i], s.guards[i+1:]...)
			s.start()
		default:
			i++
		}
	}
	select {
	case <-s.Sync.Done():
		s.Sync = s.StartSync(s.t)
	default:
	}
	s.Expect(s.WaitEnforced(s.t.Context())).To(gomega.Succeed())
}

// settled waits until everything is as it should be.
func (s *soak) settled(all []work) {
	s.t.Helper()
	for _, w := range all {
		s.Eventually(func() error { return w.right(s.t.Context()) }, patience, often).Should(gomega.Succeed(), w.name())
	}
}

// quiet waits until nothing is written, and then sees to it that nothing is but leases.
func (s *soak) quiet() {
	s.t.Helper()
	writes := func() (out []string) {
		events, err := s.log.Events()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range events {
			if o := e.ObjectRef; o != nil && o.Resource != "leases" && !strings.HasPrefix(o.APIGroup, "auth") {
				out = append(out, fmt.Sprintf("%s: %s %s/%s %s/%s %d", e.RequestReceivedTimestamp.Format(time.TimeOnly), e.Verb, o.Resource, o.Subresource, o.Namespace, o.Name, e.ResponseStatus.Code))
			}
		}
		return out
	}
	before := -1
	s.Eventually(func() bool {
		now := len(writes())
		same := now == before
		before = now
		return same
	}, "10m", calm.String()).Should(gomega.BeTrue(), "it is written on and on")
	s.Consistently(func() []string { return writes()[before:] }, rest, "5s").Should(gomega.BeEmpty(), "writes at rest")
}

// usage is what a process holds.
type usage struct{ goroutines, mebibytes float64 }

func (u usage) String() string {
	return fmt.Sprintf("%.0f goroutines, %.0f MiB", u.goroutines, u.mebibytes)
}

// use is that of the guard that was started last, and of the sync.
func (s *soak) use() map[string]usage {
	out := map[string]usage{}
	for name, p := range map[string]*manager.Process{"guard": s.Manager, "sync": s.Sync} {
		e := testkit.Env{Manager: p}
		out[name] = usage{e.Metric(s.t, "go_goroutines"), e.Metric(s.t, "process_resident_memory_bytes") / (1 << 20)}
	}
	return out
}

// leaksNothing compares with what processes held that had just been started.
func (s *soak) leaksNothing(fresh map[string]usage) {
	s.t.Helper()
	for name, now := range s.use() {
		was := fresh[name]
		s.t.Logf("%s: %s, and at first %s", name, now, was)
		if now.goroutines > 1.3*was.goroutines+50 {
			s.t.Errorf("%s has %s, and at first had %s", name, now, was)
		}
		if now.mebibytes > 1.5*was.mebibytes+100 {
			s.t.Errorf("%s has %s, and at first had %s", name, now, was)
		}
	}
}

// install applies what the features need beside what every Env has.
func (s *soak) install() {
	for _, path := range []string{"config/crd/hnc", "config/rbac/hierarchy.yaml", "config/rbac/serviceaccounts.yaml", "internal/testkit/strimzi/crds.yaml"} {
		if _, err := manager.Kubectl(s.t.Context(), s.Cluster, "apply", "--server-side", "-f", path); err != nil {
			s.t.Fatal(err)
		}
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: manager.Namespace, Name: "holdfast"}}
	cm.Data = map[string]string{config.DataKey: config.Empty + configuration}
	s.Expect(s.Client.Update(s.t.Context(), cm)).To(gomega.Succeed())
}
