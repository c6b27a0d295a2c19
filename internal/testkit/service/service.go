// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service stands in for the Service in front of the replicas of a manager.
package service

import (
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// Service has each connection go to the first replica that takes it.
type Service struct {
	listener net.Listener

	mu       sync.Mutex
	replicas []string
	open     map[*connection]bool
}

// connection of a caller to a replica.
type connection struct {
	from, to net.Conn
	// done is closed when both have ended it.
	done chan struct{}
}

// New makes one without replicas, which ends with the test.
func New(t testing.TB) *Service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{listener: l, open: map[*connection]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.forward(c)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return s
}

// URL is the one by which the API server is to reach the replicas.
func (s *Service) URL() string { return "https://" + s.listener.Addr().String() }

// Add adds a replica behind all others.
func (s *Service) Add(p *manager.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, address(p))
}

// Remove gives a replica no new connections; those that it has stay.
func (s *Service) Remove(p *manager.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = slices.DeleteFunc(slices.Clone(s.replicas), func(a string) bool { return a == address(p) })
}

func address(p *manager.Process) string { return strings.TrimPrefix(p.Webhooks, "https://") }

func (s *Service) forward(from net.Conn) {
	s.mu.Lock()
	replicas := s.replicas
	s.mu.Unlock()
	for _, address := range replicas {
		to, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		s.connect(from, to)
		return
	}
	_ = from.Close()
}

// connect passes on what both say, until both have ended it.
func (s *Service) connect(from, to net.Conn) {
	c := &connection{from: from, to: to, done: make(chan struct{})}
	s.mu.Lock()
	s.open[c] = true
	s.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { pass(to, from) })
	both.Go(func() { pass(from, to) })
	both.Wait()
	_, _ = from.Close(), to.Close()
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	close(c.done)
}

// pass passes on what one says until it says no more, and says that too.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.(*net.TCPConn).CloseWrite()
}

// Cut ends all connections, and returns when the callers have noticed, so that
// their next call makes a new one.
func (s *Service) Cut(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, c := range open {
		_ = c.from.(*net.TCPConn).CloseWrite()
		select {
		case <-c.done:
		case <-time.After(30 * time.Second):
			t.Fatal("a caller does not notice that its connection has ended")
		}
	}
}
