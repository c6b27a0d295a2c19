// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// lookAgain is how long a file of authorities is not read again.
const lookAgain = 5 * time.Second

// maxAuthorities bounds the file in bytes.
const maxAuthorities = 1 << 20

// clients decides which clients are answered: all, or those whose certificate an authority has signed that a file names.
// A change of the file or of the configuration holds for the next handshake, and for the next request of a connection
// that is open. If the file cannot be read the last good state stays, which is that all clients are answered if the
// configuration named no file before. Otherwise a rollout that mounts the file and names it at once would stop the
// replicas that do not have it yet.
type clients struct {
	settings func() configv1alpha1.WebhookClients

	mu      sync.Mutex
	base    *tls.Config
	current *trust
	read    configv1alpha1.WebhookClients
	readAt  time.Time
	problem error
}

// trust is whose certificates count.
type trust struct {
	text   []byte
	names  []string
	roots  *x509.CertPool
	config *tls.Config
}

func newClients(settings func() configv1alpha1.WebhookClients) *clients {
	return &clients{settings: settings, base: &tls.Config{MinVersion: tls.VersionTLS12}}
}

// secure adds to a server's configuration that clients need a certificate while they do.
func (c *clients) secure(base *tls.Config) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A certificate is asked for while it does not count, so that connections from before it does stay good.
	base.ClientAuth = tls.RequestClientCert
	c.base, c.readAt, c.current = base.Clone(), time.Time{}, nil
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if t, _ := c.trusted(); t != nil {
			return t.config, nil
		}
		return nil, nil
	}
	return base
}

// trusted is whose certificates count, nil if none is needed. The error is why the configuration in force has no effect.
func (c *clients) trusted() (*trust, error) {
	s := c.settings()
	c.mu.Lock()
	defer c.mu.Unlock()
	same := s.CAFile == c.read.CAFile && slices.Equal(s.CommonNames, c.read.CommonNames)
	if same && time.Since(c.readAt) < lookAgain {
		return c.current, c.problem
	}
	c.read, c.readAt = s, time.Now()
	c.look(s)
	return c.current, c.problem
}

// look reads the file.
func (c *clients) look(s configv1alpha1.WebhookClients) {
	if s.CAFile == "" {
		c.current, c.problem = nil, nil
		return
	}
	t, err := c.load(s)
	if err != nil {
		if c.problem == nil || c.problem.Error() != err.Error() {
			ctrl.Log.Error(err, "The authorities of the webhooks' clients cannot be read; the last good state stays")
		}
		c.problem = err
		return
	}
	c.problem = nil
	if c.current == nil || !bytes.Equal(c.current.text, t.text) || !slices.Equal(c.current.names, t.names) {
		ctrl.Log.Info("Webhook clients need a certificate", "authorities", s.CAFile, "commonNames", s.CommonNames)
		c.current = t
	}
}

func (c *clients) load(s configv1alpha1.WebhookClients) (*trust, error) {
	info, err := os.Stat(s.CAFile)
	if err == nil && info.Size() > maxAuthorities {
		err = fmt.Errorf("%s has more than %d bytes", s.CAFile, maxAuthorities)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(s.CAFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read admission.webhookClients.caFile: %w", err)
	}
	authorities, err := cert.ParseCertsPEM(text)
	if err != nil {
		return nil, fmt.Errorf("read admission.webhookClients.caFile %s: %w", s.CAFile, err)
	}
	t := &trust{text: text, names: slices.Clone(s.CommonNames), roots: x509.NewCertPool(), config: c.base.Clone()}
	for _, a := range authorities {
		t.roots.AddCert(a)
	}
	t.config.ClientAuth, t.config.ClientCAs = tls.RequireAndVerifyClientCert, t.roots
	t.config.VerifyConnection = func(state tls.ConnectionState) error { return t.named(state.PeerCertificates) }
	t.config.SessionTicketsDisabled = true // a resumed session would not be verified again
	return t, nil
}

// named checks the common name.
func (t *trust) named(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("the client has no certificate")
	}
	if name := chain[0].Subject.CommonName; len(t.names) > 0 && !slices.Contains(t.names, name) {
		return fmt.Errorf("the client's certificate is for %q", name)
	}
	return nil
}

// verify checks the certificate of a connection, which may be older than what counts now.
func (t *trust) verify(state *tls.ConnectionState) error {
	if state == nil {
		return errors.New("the connection is not secured")
	}
	if err := t.named(state.PeerCertificates); err != nil {
		return err
	}
	intermediates := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: t.roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// accepts reports whether a request is answered.
func (c *clients) accepts(r *http.Request) bool {
	t, _ := c.trusted()
	if t == nil {
		return true
	}
	on := connOf(r)
	if on != nil && on.trusts.Load() == t {
		return true
	}
	if t.verify(r.TLS) != nil {
		return false
	}
	if on != nil {
		on.trusts.Store(t)
	}
	return true
}
