// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// Options are what a Manager needs.
type Options struct {
	// Client reads and writes the Secret. A cache that it reads from may be
	// restricted to that one Secret.
	Client client.Client
	// Secret is the namespace and name of the Secret, fixed at start.
	Secret types.NamespacedName
	// Settings returns those in force. It is called often and by several
	// goroutines; whoever changes what it returns calls Wake.
	Settings func() Settings
	// Metrics may be nil: then nothing is exported.
	Metrics *Metrics
	// Clock may be nil: then it is the real one.
	Clock  clock.PassiveClock
	Pauses timing.Pauses
}

// Manager keeps a replica's serving certificate in line with the Secret, and the
// Secret in line with the settings. Its methods are safe for concurrent use.
type Manager struct {
	client   client.Client
	secret   types.NamespacedName
	settings func() Settings
	metrics  *Metrics
	clock    clock.PassiveClock
	memory   memory
	wakes    chan event.GenericEvent
	// noticed is the last certificate that was found to be out of its time.
	noticed atomic.Pointer[x509.Certificate]

	// state is what the Secret was last known to hold, and lastWrite when this
	// replica last tried to write it. Only Reconcile uses them, which is never
	// run twice at once.
	state     State
	lastWrite time.Time

	subscribersLock sync.Mutex
	subscribers     []chan event.GenericEvent
}

// New returns a Manager that has no certificate yet.
func New(o Options) *Manager {
	m := &Manager{
		client:   o.Client,
		secret:   o.Secret,
		settings: o.Settings,
		metrics:  o.Metrics,
		clock:    o.Clock,
		memory:   memory{settle: o.Pauses.CertificateSettle},
		wakes:    make(chan event.GenericEvent, 1),
	}
	if m.metrics == nil {
		m.metrics = unregistered()
	}
	if m.clock == nil {
		m.clock = clock.RealClock{}
	}
	return m
}

// GetCertificate is for tls.Config. It returns an error that says why as long as
// there is no certificate.
func (m *Manager) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	served, err := m.memory.current()
	if err != nil {
		return nil, fmt.Errorf("get serving certificate: %w", err)
	}
	// An expired one is still presented: the caller's clock may be the right one.
	if checkTimes(served.leaf(), m.clock.Now()) != nil {
		m.notice(served)
	}
	return served.certificate, nil
}

// Check returns why this replica cannot be called, for the readiness probe: it
// has no certificate, or one that is not valid now or lacks a host name. A
// Secret that has become useless since is no reason as long as the last good
// certificate is in force; it shows as errors of the controller.
func (m *Manager) Check() error {
	served, err := m.memory.current()
	if err != nil {
		return fmt.Errorf("check serving certificate: %w", err)
	}
	if err := checkTimes(served.leaf(), m.clock.Now()); err != nil {
		m.notice(served)
		return fmt.Errorf("check serving certificate: %w", err)
	}
	if err := checkNames(served.leaf(), m.settings().HostNames); err != nil {
		return fmt.Errorf("check serving certificate: %w", err)
	}
	return nil
}

// NotAfter is when the certificate in force expires; zero if there is none.
func (m *Manager) NotAfter() time.Time {
	served, err := m.memory.current()
	if err != nil {
		return time.Time{}
	}
	return served.leaf().NotAfter
}

// CABundle returns, in PEM, what the admission objects must carry; nil until a
// certificate has been issued and stored. The caller may keep it.
func (m *Manager) CABundle() []byte {
	return m.memory.caBundle()
}

// Published tells this replica what every admission object that points to it
// carries; nil if there is none. It must be called only when the API server has
// accepted all of them, and should be called on every replica whenever that
// changes. The package comment explains what it is for. Calling it again with
// the same bundle does nothing.
func (m *Manager) Published(bundle []byte) {
	if m.memory.publish(bundle, m.clock.Now()) {
		m.Wake()
	}
}

// Subscribe returns a channel that gets an event after CABundle or the
// certificate in force has changed, fit for source.Channel. Several changes that
// nobody has read are one event; its object carries the name of the Secret and
// nothing else. The first certificate is a change like any other, also when the
// channel is read only later.
func (m *Manager) Subscribe() <-chan event.GenericEvent {
	c := make(chan event.GenericEvent, 1)
	m.subscribersLock.Lock()
	defer m.subscribersLock.Unlock()
	m.subscribers = append(m.subscribers, c)
	return c
}

// Wake makes the Manager look again, because the settings have changed.
func (m *Manager) Wake() {
	m.send(m.wakes)
}

// notice wakes the Manager once for a certificate that is out of its time, which
// happens when the machine slept or the clock was set.
func (m *Manager) notice(served *material) {
	if m.noticed.Swap(served.leaf()) != served.leaf() {
		m.Wake()
	}
}

func (m *Manager) notify() {
	m.subscribersLock.Lock()
	defer m.subscribersLock.Unlock()
	for _, c := range m.subscribers {
		m.send(c)
	}
}

// send leaves an event in a channel of one, unless there is one already.
func (m *Manager) send(c chan<- event.GenericEvent) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.secret.Namespace, Name: m.secret.Name}}
	select {
	case c <- event.GenericEvent{Object: secret}:
	default:
	}
}
