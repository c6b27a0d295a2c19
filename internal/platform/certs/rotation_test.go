// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// caller is an API server that calls the webhooks of every replica without a
// pause, each time on a new connection, and trusts only what is published.
type caller struct {
	t       *testing.T
	g       *gomega.WithT
	cluster *cluster
	bundle  atomic.Pointer[[]byte]
	// calls has one count for each replica that is called.
	calls  []*atomic.Int64
	failed atomic.Int64
}

func newCaller(t *testing.T, c *cluster, bundle []byte, replicas ...*Manager) *caller {
	t.Helper()
	out := &caller{t: t, g: gomega.NewWithT(t), cluster: c}
	out.bundle.Store(&bundle)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	for _, m := range replicas {
		url := serve(t, m)
		count := &atomic.Int64{}
		out.calls = append(out.calls, count)
		group.Go(func() { out.call(ctx, url, count) })
	}
	return out
}

// serve runs a web server with the certificate of a replica.
func serve(t *testing.T, m *Manager) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: m.GetCertificate, MinVersion: tls.VersionTLS13})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return "https://" + net.JoinHostPort("127.0.0.1", port(listener))
}

func port(l net.Listener) string {
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

func (c *caller) call(ctx context.Context, url string, count *atomic.Int64) {
	for ctx.Err() == nil {
		if err := c.once(ctx, url); err != nil && ctx.Err() == nil {
			c.failed.Add(1)
			c.t.Errorf("call at %s: %v", c.cluster.clock.Now(), err)
			return
		}
		count.Add(1)
	}
}

func (c *caller) once(ctx context.Context, url string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(*c.bundle.Load())
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			RootCAs:    roots,
			ServerName: host,
			Time:       c.cluster.clock.Now,
			MinVersion: tls.VersionTLS13,
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// called waits until every replica has answered the call that it is in and
// another one.
func (c *caller) called() {
	c.t.Helper()
	before := make([]int64, len(c.calls))
	for i, count := range c.calls {
		before[i] = count.Load()
	}
	c.g.Eventually(func() bool {
		for i, count := range c.calls {
			if count.Load() < before[i]+2 {
				return c.failed.Load() > 0
			}
		}
		return true
	}, "180s", "1ms").Should(gomega.BeTrue())
	if c.failed.Load() > 0 {
		c.t.FailNow()
	}
}

// publish does what the admission reconciler of a leader does, and what the other
// replicas see of it.
func (c *caller) publish(leader *Manager, others ...*Manager) {
	c.t.Helper()
	bundle := leader.CABundle()
	c.bundle.Store(&bundle)
	for _, m := range append(others, leader) {
		m.Published(bundle)
	}
	c.called()
}

// TestRotation_noCallFails rotates everything under continuous calls, with a
// replica and admission objects that are late at every step.
func TestRotation_noCallFails(t *testing.T) {
	t.Parallel()
	const tick = 20 * time.Minute
	c := newCluster(t)
	c.configure(func(s *Settings) {
		s.Validity, s.AuthorityValidity, s.Overlap = 4*time.Hour, 12*time.Hour, time.Hour
	})
	a, b := c.replica(), c.replica()
	reconciled(t, a)
	reconciled(t, b)
	calls := newCaller(t, c, a.CABundle(), a, b)
	calls.publish(a, b)

	certificates, authorities := map[string]bool{}, map[string]bool{}
	for range 11 * time.Hour / tick {
		c.sleep(tick)
		reconciled(t, a)
		calls.called()
		reconciled(t, b)
		calls.called()
		// What is published is one tick old.
		calls.publish(b, a)
		certificates[served(t, c, a)] = true
		state, _ := Decode(c.secret(t).Data)
		authorities[state.Authority.Certificate.SerialNumber.String()] = true
	}
	if len(authorities) != 2 || len(certificates) < 4 {
		t.Errorf("%d authorities and %d certificates were in force: the test is not one of rotation", len(authorities), len(certificates))
	}
}

// TestRotation_noCallFailsInAnAccident breaks the Secret and the order of things
// under continuous calls.
func TestRotation_noCallFailsInAnAccident(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// accident happens to the Secret, or changes what replicas know.
		accident func(t *testing.T, c *cluster, a, b *Manager)
		// keeps says that the certificate stays.
		keeps bool
	}{{
		name:     "the Secret is deleted",
		accident: func(t *testing.T, c *cluster, _, _ *Manager) { c.remove(t) },
		keeps:    true,
	}, {
		name:     "the Secret is emptied",
		accident: func(t *testing.T, c *cluster, _, _ *Manager) { c.put(t, nil) },
	}, {
		name: "the key of the authority is damaged",
		accident: func(t *testing.T, c *cluster, _, _ *Manager) {
			data := c.secret(t).Data
			data[keyAuthorityKey] = []byte("garbage")
			c.put(t, data)
		},
	}, {
		name: "the Secret is deleted and a replica that knows nothing is first to write it",
		accident: func(t *testing.T, c *cluster, _, _ *Manager) {
			c.remove(t)
			reconciled(t, c.replica())
		},
	}, {
		name: "the machine sleeps between two stages, before the bundle is published",
		accident: func(t *testing.T, c *cluster, a, _ *Manager) {
			c.configure(func(s *Settings) { s.AuthorityValidity, s.Overlap = 91*day, 20*day })
			c.sleep(61 * day)
			reconciled(t, a)
			c.sleep(21 * day)
		},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			a, b := c.replica(), c.replica()
			reconciled(t, a)
			reconciled(t, b)
			before := served(t, c, a)
			calls := newCaller(t, c, a.CABundle(), a, b)
			calls.publish(a, b)

			tt.accident(t, c, a, b)
			calls.called()
			c.sleep(time.Second)
			for _, m := range []*Manager{a, b, a, b} {
				reconciled(t, m)
				calls.called()
			}
			calls.publish(b, a)
			c.sleep(settle)
			for _, m := range []*Manager{a, b} {
				reconciled(t, m)
				calls.called()
			}
			if served(t, c, a) != served(t, c, b) {
				t.Error("two replicas serve different certificates")
			}
			if got := served(t, c, a) == before; got != tt.keeps {
				t.Errorf("the certificate stayed: %t, want %t", got, tt.keeps)
			}
			c.sleep(31 * day)
			for _, m := range []*Manager{a, b} {
				reconciled(t, m)
				calls.called()
			}
			calls.publish(a, b)
			if !slices.Equal(a.CABundle(), b.CABundle()) {
				t.Error("two replicas publish different bundles")
			}
		})
	}
}
