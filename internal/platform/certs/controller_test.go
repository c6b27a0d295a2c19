// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

var secretName = types.NamespacedName{Namespace: "holdfast-system", Name: "holdfast-guard-tls"}

// cluster is a fake API server, its clock, and what happened to the Secret.
type cluster struct {
	client.Client
	clock    *clocktesting.FakePassiveClock
	settings atomic.Pointer[Settings]
	writes   atomic.Int32
	// before is called before each write; it may be nil.
	before func() error
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{clock: clocktesting.NewFakePassiveClock(start)}
	c.settings.Store(&Settings{Want: defaults()})
	count := func(write func() error) error {
		if before := c.before; before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		err := write()
		if err == nil {
			c.writes.Add(1)
		}
		return err
	}
	c.Client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return count(func() error { return w.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return count(func() error { return w.Update(ctx, o, opts...) })
		},
	}).Build()
	return c
}

func (c *cluster) replica() *Manager {
	return New(Options{
		Client:   c,
		Secret:   secretName,
		Settings: func() Settings { return *c.settings.Load() },
		Clock:    c.clock,
		Pauses:   timing.Production(),
	})
}

// settle is how long a bundle that was published settles.
var settle = timing.Production().CertificateSettle

func (c *cluster) sleep(d time.Duration) {
	c.clock.SetTime(c.clock.Now().Add(d))
}

func (c *cluster) configure(change func(s *Settings)) {
	s := *c.settings.Load()
	s.HostNames = slices.Clone(s.HostNames)
	change(&s)
	c.settings.Store(&s)
}

func (c *cluster) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	var s corev1.Secret
	if err := c.Get(t.Context(), secretName, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// put writes the content of the Secret by hand.
func (c *cluster) put(t *testing.T, data map[string][]byte) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secretName.Namespace, Name: secretName.Name}}
	err := c.Get(t.Context(), secretName, s)
	s.Data = data
	if err == nil {
		err = c.Update(t.Context(), s)
	} else {
		err = c.Create(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) remove(t *testing.T) {
	t.Helper()
	if err := c.Delete(t.Context(), c.secret(t)); err != nil {
		t.Fatal(err)
	}
}

func reconciled(t *testing.T, m *Manager) time.Duration {
	t.Helper()
	result, err := m.Reconcile(t.Context(), reconcile.Request{NamespacedName: secretName})
	if err != nil {
		t.Fatalf("Reconcile: %v", err)
	}
	return result.RequeueAfter
}

func reconcileError(t *testing.T, m *Manager) error {
	t.Helper()
	_, err := m.Reconcile(t.Context(), reconcile.Request{NamespacedName: secretName})
	if err == nil {
		t.Fatal("Reconcile returned no error")
	}
	return err
}

// served returns the serial number of what a replica serves, after a check that
// an API server with the bundle that the replica publishes accepts it.
func served(t *testing.T, c *cluster, m *Manager) string {
	t.Helper()
	certificate, err := m.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	if err := accepted(certificate.Leaf, m.CABundle(), host, c.clock.Now()); err != nil {
		t.Errorf("the API server refuses the certificate: %v", err)
	}
	return certificate.Leaf.SerialNumber.String()
}

func wantWrites(t *testing.T, c *cluster, want int32) {
	t.Helper()
	if got := c.writes.Load(); got != want {
		t.Errorf("%d writes, want %d", got, want)
	}
}

func TestReconcile_issuesTheFirstCertificate(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	changes := m.Subscribe()
	if _, err := m.GetCertificate(nil); !errors.Is(err, errNotRead) {
		t.Errorf("GetCertificate before the first reading: %v", err)
	}
	if err := m.Check(); !errors.Is(err, errNotRead) {
		t.Errorf("Check before the first reading: %v", err)
	}
	if b := m.CABundle(); b != nil {
		t.Errorf("there is a bundle before the first certificate: %s", b)
	}
	if n := m.NotAfter(); !n.IsZero() {
		t.Errorf("NotAfter is %s before the first certificate", n)
	}

	if pause := reconciled(t, m); pause != longestPause {
		t.Errorf("to be reconciled after %s, want %s", pause, longestPause)
	}
	served(t, c, m)
	if diff := cmp.Diff(start.Add(90*day).Truncate(time.Second).Add(time.Second), m.NotAfter()); diff != "" {
		t.Errorf("NotAfter (-want +got):\n%s", diff)
	}
	s := c.secret(t)
	if diff := cmp.Diff(string(s.Data[keyTrusted]), string(m.CABundle())); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}
	if s.Type != corev1.SecretTypeTLS {
		t.Errorf("the Secret is of type %s", s.Type)
	}
	select {
	case e := <-changes:
		if client.ObjectKeyFromObject(e.Object) != secretName {
			t.Errorf("the event is about %v", e.Object)
		}
	default:
		t.Error("no event for the first bundle")
	}
}

func TestReconcile_writesNothingWhenNothingChanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	changes := m.Subscribe()
	reconciled(t, m)
	<-changes
	before := served(t, c, m)
	for range 10 {
		c.sleep(day)
		reconciled(t, m)
	}
	reconciled(t, c.replica())
	wantWrites(t, c, 1)
	if after := served(t, c, m); after != before {
		t.Error("another certificate is served")
	}
	if len(changes) > 0 {
		t.Error("an event although nothing has changed")
	}
	c.sleep(60 * day)
	reconciled(t, m)
	if served(t, c, m) == before || len(changes) != 1 {
		t.Error("no event for another certificate")
	}
}

func TestReconcile_comesBackForTheNextStep(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	reconciled(t, m)
	before := served(t, c, m)
	c.sleep(60*day - time.Minute)
	pause := reconciled(t, m)
	if pause < time.Minute || pause > time.Minute+time.Second {
		t.Fatalf("to be reconciled after %s, want about a minute", pause)
	}
	c.sleep(pause)
	reconciled(t, m)
	if served(t, c, m) == before {
		t.Error("the certificate was not renewed")
	}
	wantWrites(t, c, 2)
}

func TestReconcile_anyReplicaCarriesOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.replica(), c.replica()
	reconciled(t, a)
	reconciled(t, b)
	if served(t, c, a) != served(t, c, b) {
		t.Error("two replicas serve different certificates")
	}
	authority := string(b.CABundle())
	c.sleep(61 * day)
	reconciled(t, b)
	reconciled(t, a)
	if served(t, c, a) != served(t, c, b) || string(a.CABundle()) != authority {
		t.Error("the renewal of one replica is not that of the other")
	}
	wantWrites(t, c, 2)
}

func TestReconcile_twoReplicasCreateAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.replica(), c.replica()
	c.before = func() error {
		c.before = nil
		reconciled(t, a)
		return nil
	}
	if pause := reconciled(t, b); pause != shortestPause {
		t.Errorf("the loser looks again after %s, want %s", pause, shortestPause)
	}
	if _, err := b.GetCertificate(nil); err == nil {
		t.Error("the loser serves what it did not store")
	}
	reconciled(t, b)
	if served(t, c, a) != served(t, c, b) {
		t.Error("two replicas serve different certificates")
	}
	wantWrites(t, c, 1)
}

func TestReconcile_twoReplicasUpdateAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.replica(), c.replica()
	reconciled(t, a)
	reconciled(t, b)
	before := served(t, c, b)
	c.sleep(61 * day)
	c.before = func() error {
		c.before = nil
		reconciled(t, a)
		return nil
	}
	if pause := reconciled(t, b); pause != shortestPause {
		t.Errorf("the loser looks again after %s, want %s", pause, shortestPause)
	}
	if served(t, c, b) != before {
		t.Error("the loser serves what it did not store")
	}
	reconciled(t, b)
	if served(t, c, a) != served(t, c, b) {
		t.Error("two replicas serve different certificates")
	}
	wantWrites(t, c, 2)
}

func TestReconcile_manyReplicasAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var replicas []*Manager
	for range 5 {
		replicas = append(replicas, c.replica())
	}
	for range 4 {
		var group sync.WaitGroup
		for _, m := range replicas {
			group.Go(func() {
				if _, err := m.Reconcile(t.Context(), reconcile.Request{}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		want := ""
		for _, m := range replicas {
			reconciled(t, m)
			if got := served(t, c, m); want == "" {
				want = got
			} else if got != want {
				t.Error("two replicas serve different certificates")
			}
		}
		c.sleep(61 * day)
	}
	wantWrites(t, c, 4)
}

func TestReconcile_aDeletedSecretIsWrittenAgainFromMemory(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	reconciled(t, m)
	before, content := served(t, c, m), c.secret(t).Data
	for range 2 {
		c.remove(t)
		if served(t, c, m) != before {
			t.Error("the certificate went with the Secret")
		}
		c.sleep(2 * time.Second)
		reconciled(t, m)
		if diff := cmp.Diff(content, c.secret(t).Data); diff != "" {
			t.Errorf("the Secret is another one:\n%s", diff)
		}
	}
	if served(t, c, m) != before {
		t.Error("another certificate is served")
	}
	wantWrites(t, c, 3)
}

func TestReconcile_aDeletedSecretThatIsDueIsRenewed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	reconciled(t, m)
	before, bundle := served(t, c, m), string(m.CABundle())
	c.remove(t)
	c.sleep(61 * day)
	reconciled(t, m)
	if served(t, c, m) == before || string(m.CABundle()) != bundle {
		t.Error("not the certificate alone was renewed")
	}
}

// TestReconcile_aStaleReadingIsNotPutIntoForce has a cache that still holds, or
// still lacks, what the replica itself has written a moment ago.
func TestReconcile_aStaleReadingIsNotPutIntoForce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	var stale atomic.Pointer[corev1.Secret]
	var missing atomic.Bool
	m.client = interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if missing.Load() {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
			}
			if s := stale.Load(); s != nil {
				s.DeepCopyInto(o.(*corev1.Secret))
				return nil
			}
			return w.Get(ctx, key, o, opts...)
		},
	})
	missing.Store(true)
	reconciled(t, m)
	first := served(t, c, m)
	for range 3 {
		c.sleep(700 * time.Millisecond)
		reconciled(t, m)
	}
	wantWrites(t, c, 1)
	missing.Store(false)
	stale.Store(c.secret(t))

	c.sleep(61 * day)
	reconciled(t, m)
	second := served(t, c, m)
	for range 3 {
		c.sleep(700 * time.Millisecond)
		reconciled(t, m)
		if served(t, c, m) != second {
			t.Error("an older certificate came back")
		}
	}
	if first == second {
		t.Error("the certificate was not renewed")
	}
	wantWrites(t, c, 2)
}

func TestReconcile_anEmptiedSecretGetsANewAuthority(t *testing.T) {
	t.Parallel()
	for _, content := range []map[string][]byte{nil, {keyAuthorityKey: []byte("garbage"), "note": []byte("kept")}} {
		c := newCluster(t)
		m := c.replica()
		reconciled(t, m)
		before, bundle := served(t, c, m), m.CABundle()
		m.Published(bundle)

		c.put(t, content)
		c.sleep(time.Minute)
		if pause := reconciled(t, m); pause > longestPause {
			t.Errorf("to be reconciled after %s", pause)
		}
		if served(t, c, m) != before {
			t.Error("a certificate is served that is not trusted yet")
		}
		if diff := cmp.Diff(content["note"], c.secret(t).Data["note"]); diff != "" {
			t.Errorf("what Holdfast does not write (-want +got):\n%s", diff)
		}
		m.Published(m.CABundle())
		c.sleep(time.Second)
		if pause := reconciled(t, m); pause != settle-time.Second {
			t.Errorf("to be reconciled after %s, want %s", pause, settle-time.Second)
		}
		if served(t, c, m) != before {
			t.Error("a certificate is served before the bundle has settled")
		}
		c.sleep(settle - time.Second)
		reconciled(t, m)
		if served(t, c, m) == before {
			t.Error("the new certificate is not served")
		}
		c.sleep(day)
		reconciled(t, m)
		if diff := cmp.Diff(string(c.secret(t).Data[keyTrusted]), string(m.CABundle())); diff != "" {
			t.Errorf("bundle after the overlap (-want +got):\n%s", diff)
		}
	}
}

func TestReconcile_settingsChangeLive(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	reconciled(t, m)
	before := served(t, c, m)
	c.sleep(time.Minute)

	c.configure(func(s *Settings) { s.HostNames = append(s.HostNames, "guard.example.com") })
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "guard.example.com") {
		t.Errorf("Check without the new host name: %v", err)
	}
	reconciled(t, m)
	after := served(t, c, m)
	if after == before {
		t.Error("no certificate for the new host name")
	}

	c.configure(func(s *Settings) { s.Overlap = 0 })
	if err := reconcileError(t, m); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("settings that cannot work are retried: %v", err)
	}
	if served(t, c, m) != after {
		t.Error("settings that cannot work changed the certificate")
	}
}

func TestReconcile_aFailingAPIServerLeavesTheCertificateInForce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.replica()
	broken := errors.New("the API server is on fire")
	c.before = func() error { return broken }
	if err := reconcileError(t, m); !errors.Is(err, broken) {
		t.Errorf("Reconcile: %v", err)
	}
	if err := m.Check(); !errors.Is(err, broken) {
		t.Errorf("Check does not say why there is no certificate: %v", err)
	}
	if m.CABundle() != nil {
		t.Error("a bundle is published that is not stored")
	}
	c.before = nil
	c.sleep(time.Second)
	reconciled(t, m)
	before := served(t, c, m)

	c.before = func() error { return broken }
	c.sleep(61 * day)
	if err := reconcileError(t, m); !errors.Is(err, broken) {
		t.Errorf("Reconcile: %v", err)
	}
	if served(t, c, m) != before {
		t.Error("a certificate is served that is not stored")
	}
}

// TestReconcile_aWrongClockDoesNotFloodTheAPIServer has a replica whose clock is
// ten years ahead: each replica takes the other's certificates for useless.
func TestReconcile_aWrongClockDoesNotFloodTheAPIServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.replica(), c.replica()
	ahead := clocktesting.NewFakePassiveClock(start.Add(10 * year))
	b.clock = ahead
	for range 100 {
		reconciled(t, a)
		reconciled(t, b)
	}
	wantWrites(t, c, 2)
}

func TestReconcile_providerSecret(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.configure(func(s *Settings) { s.Provider = configv1alpha1.CertificatesBySecret })
	m := c.replica()
	wantError := func(words string) {
		t.Helper()
		if err := reconcileError(t, m); !strings.Contains(err.Error(), words) {
			t.Errorf("Reconcile returned %q, want %q in it", err, words)
		}
	}
	wantError("take certificate from Secret holdfast-system/holdfast-guard-tls: it does not exist")
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "it does not exist") {
		t.Errorf("Check: %v", err)
	}
	good := mustEncode(t, install(t))
	c.put(t, map[string][]byte{keyTrusted: good[keyTrusted]})
	wantError("tls.crt: missing")

	content := map[string][]byte{}
	for _, key := range []string{keyServingCertificate, keyServingKey, keyTrusted} {
		content[key] = good[key]
	}
	c.put(t, content)
	writes := c.writes.Load()
	reconciled(t, m)
	first := served(t, c, m)
	m.Published(m.CABundle())

	c.put(t, map[string][]byte{keyServingCertificate: []byte("garbage"), keyServingKey: good[keyServingKey], keyTrusted: good[keyTrusted]})
	wantError("tls.crt and tls.key")
	if served(t, c, m) != first {
		t.Error("the last good certificate is not in force")
	}
	c.remove(t)
	wantError("it does not exist")
	if served(t, c, m) != first {
		t.Error("the last good certificate is not in force")
	}

	// The other authority comes without an overlap: the old certificate stays
	// until the new authority is published.
	c.put(t, mustEncode(t, install(t)))
	reconciled(t, m)
	if served(t, c, m) != first {
		t.Error("a certificate is served that is not trusted yet")
	}
	m.Published(m.CABundle())
	c.sleep(settle)
	reconciled(t, m)
	if served(t, c, m) == first {
		t.Error("the new certificate is not served")
	}

	c.sleep(89 * day)
	reconciled(t, m)
	c.sleep(day)
	wantError("expired")
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("Check of an expired certificate: %v", err)
	}
	// Three puts by hand after the first good one; nothing by the Manager.
	wantWrites(t, c, writes+2)
}

func TestReconcile_fromAProvidedSecretToAnOwnOne(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.configure(func(s *Settings) { s.Provider = configv1alpha1.CertificatesBySecret })
	m := c.replica()
	good := mustEncode(t, install(t))
	delete(good, keyAuthorityKey)
	c.put(t, good)
	reconciled(t, m)
	before := served(t, c, m)
	m.Published(m.CABundle())

	c.configure(func(s *Settings) { s.Provider = configv1alpha1.CertificatesByHoldfast })
	reconciled(t, m)
	if served(t, c, m) != before {
		t.Error("a certificate is served that is not trusted yet")
	}
	m.Published(m.CABundle())
	c.sleep(settle)
	reconciled(t, m)
	if served(t, c, m) == before {
		t.Error("the own certificate is not served")
	}
}
