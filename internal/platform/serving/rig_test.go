// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit/pki"
)

// rig is a server that runs.
type rig struct {
	*Server
	t         *testing.T
	address   string
	authority *pki.Authority
	clients   atomic.Pointer[configv1alpha1.WebhookClients]
	stop      func()
	// origin is the IP address that the server sees of connections from now on; nil for the real one.
	origin atomic.Pointer[net.TCPAddr]
}

// comeFrom has the connections that follow come from an IP address: to the server that is another client.
func (r *rig) comeFrom(ip string) { r.origin.Store(&net.TCPAddr{IP: net.ParseIP(ip)}) }

// from is a listener whose connections have origin as their remote address.
type from struct {
	net.Listener
	origin *atomic.Pointer[net.TCPAddr]
}

func (f from) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if origin := f.origin.Load(); err == nil && origin != nil {
		return originated{c, origin}, nil
	}
	return c, err
}

type originated struct {
	net.Conn
	origin *net.TCPAddr
}

func (o originated) RemoteAddr() net.Addr { return o.origin }

// start serves paths until the test ends.
func start(t *testing.T, b bounds, clients configv1alpha1.WebhookClients, paths map[string]http.Handler) *rig {
	t.Helper()
	r := &rig{t: t, authority: pki.NewAuthority(t, "server")}
	r.clients.Store(&clients)
	serving := r.authority.Issue(t, "server")
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
	go func() { ended <- r.serve(ctx, from{l, &r.origin}) }()
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
