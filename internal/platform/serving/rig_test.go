// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// authority signs certificates.
type authority struct {
	tls.Certificate
	PEM []byte
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{}
	a.Certificate = sign(t, name, true, nil)
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Certificate[0]})
	return a
}

// issue signs a certificate for 127.0.0.1, and for a client of the name.
func (a *authority) issue(t testing.TB, name string) tls.Certificate {
	t.Helper()
	return sign(t, name, false, a)
}

func sign(t testing.TB, name string, isAuthority bool, by *authority) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA: isAuthority, BasicConstraintsValid: true,
	}
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

// rig is a server that runs.
type rig struct {
	*Server
	t         *testing.T
	address   string
	authority *authority
	clients   atomic.Pointer[configv1alpha1.WebhookClients]
	stop      func()
}

// start serves paths until the test ends.
func start(t *testing.T, b bounds, clients configv1alpha1.WebhookClients, paths map[string]http.Handler) *rig {
	t.Helper()
	r := &rig{t: t, authority: newAuthority(t, "server")}
	r.clients.Store(&clients)
	serving := r.authority.issue(t, "server")
	r.Server = newServer(Options{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &serving, nil },
		Clients:        func() configv1alpha1.WebhookClients { return *r.clients.Load() },
	}, b)
	for path, h := range paths {
		r.Register(path, h)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.address = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.serve(ctx, l) }()
	r.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(r.stop)
	for check := r.StartedChecker(); check(nil) != nil; {
		<-time.After(time.Millisecond)
	}
	return r
}

// client calls the server, with a certificate if there is one.
func (r *rig) client(certificate *tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.authority.PEM)
	config := &tls.Config{RootCAs: roots}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (r *rig) post(c *http.Client, path string, body io.Reader) (*http.Response, string, error) {
	r.t.Helper()
	return r.do(c, http.MethodPost, path, "application/json", body)
}

func (r *rig) do(c *http.Client, method, path, kind string, body io.Reader) (*http.Response, string, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "https://"+r.address+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, strings.TrimSpace(string(text)), err
}

// dial is a connection of a client that does as it likes, from another address than the others if it says so.
func (r *rig) dial(from string) *tls.Conn {
	r.t.Helper()
	dialer := &net.Dialer{}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := tls.DialWithDialer(dialer, "tcp", r.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo answers with what it gets.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	_, _ = w.Write(body)
})
