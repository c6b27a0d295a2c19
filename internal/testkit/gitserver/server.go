// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
)

// Options say how the server is reached.
type Options struct {
	// Username and Password are asked for if there is a password; SetLogin changes them.
	Username, Password string
	// TLS makes it https, with a certificate of its own that CA returns.
	TLS bool
}

// Counts are what the server was asked since it began.
type Counts struct {
	// Lists are how often somebody asked what a repository has.
	Lists int
	// Fetches are how often somebody asked for commits.
	Fetches int
	// Refused are requests without the right credentials.
	Refused int
}

// Fault is how the server fails. The zero value is a server that works.
type Fault struct {
	// Status answers every request with this code.
	Status int
	// CutPackAfter drops the connection after so many bytes of a pack.
	CutPackAfter int64
	// Stall lets every request wait until its client gives up.
	Stall bool
	// RedirectTo sends every request on to another server.
	RedirectTo string
	// Old takes away the newer protocol, with which a client may ask for any commit.
	Old bool
}

// TB is a testing.TB, or what a demo has for one.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Server serves the repositories of a folder.
type Server struct {
	dir     string
	backend string // "git http-backend"
	address string
	cert    *loopback.Certificate

	stalled atomic.Int64

	mu     sync.Mutex
	http   *http.Server
	user   string
	pass   string
	fault  Fault
	counts map[string]Counts
	sentOn map[string]string
}

// New starts a server for a folder, which it makes if need be.
func New(ctx context.Context, dir string, o Options) (*Server, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("ask git for its programs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Server{
		dir: dir, backend: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		user: o.Username, pass: o.Password, counts: map[string]Counts{}, sentOn: map[string]string{},
	}
	if o.TLS {
		if s.cert, err = loopback.NewCertificate(); err != nil {
			return nil, err
		}
	}
	s.address = "127.0.0.1:0"
	return s, s.Resume()
}

// Start starts a server for a test, and ends it with it.
func Start(t interface {
	TB
	TempDir() string
	Context() context.Context
	Cleanup(func())
}, o Options) *Server {
	t.Helper()
	s, err := New(t.Context(), filepath.Join(t.TempDir(), "git"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Resume serves again after Stop, at the same address.
func (s *Server) Resume() error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute, ErrorLog: loopback.NoLog()}
	if s.cert != nil {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{s.cert.TLS}, MinVersion: tls.VersionTLS12}
	}
	s.mu.Lock()
	s.http = server
	s.mu.Unlock()
	go func() {
		if s.cert != nil {
			_ = server.ServeTLS(listener, "", "") // it ends with Stop
			return
		}
		_ = server.Serve(listener)
	}()
	return nil
}

// Stop ends the server and every connection; its repositories stay.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		_ = s.http.Close()
	}
	s.http = nil
}

// URL is the address of the server.
func (s *Server) URL() string {
	if s.cert != nil {
		return "https://" + s.address
	}
	return "http://" + s.address
}

// CA is what a client has to trust, in PEM; "" without TLS.
func (s *Server) CA() string {
	if s.cert == nil {
		return ""
	}
	return s.cert.PEM
}

// SetLogin changes the user name and the password: those that clients have expire.
func (s *Server) SetLogin(user, pass string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.pass = user, pass
}

// SetFault makes the server fail from now on.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Stalled is how many requests wait now because of Fault.Stall.
func (s *Server) Stalled() int { return int(s.stalled.Load()) }

// Rename sends on whoever asks for a repository by its old name.
func (s *Server) Rename(before, now string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sentOn[before] = now
}

// Counts are those of one repository.
func (s *Server) Counts(repo string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[repo]
}

func (s *Server) count(repo string, f func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[repo]
	f(&c)
	s.counts[repo] = c
}

// git runs git on the machine, as little as possible of whose configuration counts.
func (s *Server) git(ctx context.Context, in string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
