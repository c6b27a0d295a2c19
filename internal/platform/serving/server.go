// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// stopTime is how long calls get to finish when the server is told to stop.
const stopTime = time.Minute

// Options of a Server.
type Options struct {
	Host string
	Port int
	// GetCertificate returns the serving certificate.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Clients returns the configuration in force. It must be safe for concurrent use.
	Clients func() configv1alpha1.WebhookClients
}

// Server is a webhook.Server with bounds. It takes paths and their metrics from controller-runtime's.
type Server struct {
	webhook.Server
	o       Options
	bounds  bounds
	mux     *http.ServeMux
	conns   *share
	bodies  *share
	clients *clients
	started atomic.Bool
}

// NewServer returns a Server that does not listen yet.
func NewServer(o Options) *Server { return newServer(o, production()) }

func newServer(o Options, b bounds) *Server {
	mux := http.NewServeMux()
	s := &Server{
		Server:  webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port, WebhookMux: mux}),
		o:       o,
		bounds:  b,
		mux:     mux,
		conns:   newShare(b.connections, b.grace),
		bodies:  newShare(b.bodies, b.grace),
		clients: newClients(o.Clients),
	}
	s.conns.most = b.busy
	return s
}

// Register implements webhook.Server. The metrics of a path count what is turned away, too.
func (s *Server) Register(path string, h http.Handler) { s.Server.Register(path, s.bound(h)) }

// CheckClients returns why the certificates of clients cannot be verified as the configuration says.
func (s *Server) CheckClients() error {
	_, err := s.clients.trusted()
	return err
}

// StartedChecker implements webhook.Server.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhook server has not started yet")
		}
		return nil
	}
}

// Start implements webhook.Server.
func (s *Server) Start(ctx context.Context) error {
	raw, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.o.Host, strconv.Itoa(s.o.Port)))
	if err != nil {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	return s.serve(ctx, raw)
}

func (s *Server) serve(ctx context.Context, raw net.Listener) error {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: s.o.GetCertificate}
	secured := tls.NewListener(&listener{raw, s.conns}, s.clients.secure(base))
	if err := s.CheckClients(); err != nil { // later the last good state stays, and now there is none
		return errors.Join(err, raw.Close())
	}
	server := &http.Server{
		Handler:           s.timed(s.mux),
		Protocols:         new(http.Protocols),
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: s.bounds.headerTime,
		WriteTimeout:      s.bounds.patience + s.bounds.bodyTime + s.bounds.callTime + s.bounds.headerTime,
		IdleTimeout:       s.bounds.idleTime,
		ConnContext:       withConn,
		ConnState:         onState,
		ErrorLog:          log.New(fewLines{flowcontrol.NewTokenBucketPassiveRateLimiter(0.1, 10)}, "", 0),
	}
	server.Protocols.SetHTTP1(true)

	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	}()
	ctrl.Log.Info("Serving webhooks", "address", raw.Addr().String())
	s.started.Store(true)
	if err := server.Serve(secured); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	if err := <-stopped; err != nil {
		ctrl.Log.Error(err, "Webhook calls did not end in time")
	}
	return nil
}

// fewLines logs what http.Server says about single connections, and drops most of it when there is much: a client could
// fill the log.
type fewLines struct {
	limit flowcontrol.PassiveRateLimiter
}

// Write implements io.Writer.
func (l fewLines) Write(line []byte) (int, error) {
	if l.limit.TryAccept() {
		ctrl.Log.WithName("serving").Info("A connection failed", "problem", strings.TrimSpace(string(line)))
	}
	return len(line), nil
}
