// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// server is the lease as the API server has it.
type server struct {
	resourcelock.Interface

	holder string
	// takes is how long a request takes, and fails reports whether none is answered.
	takes time.Duration
	fails bool
	clock *clocktesting.FakeClock
}

func (s *server) Identity() string { return "me" }

func (s *server) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: s.holder}, nil, s.answer()
}

func (s *server) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return s.Update(ctx, r)
}

func (s *server) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	err := s.answer()
	if err == nil {
		s.holder = r.HolderIdentity
	}
	return err
}

func (s *server) answer() error {
	s.clock.Step(s.takes)
	if s.fails {
		return errors.New("timeout")
	}
	return nil
}

func TestFence(t *testing.T) {
	t.Parallel()
	const duration = 15 * time.Second
	tests := []struct {
		name string
		// do is what happens: hold and renew are requests of leader election, look is its GET, release gives the lease up.
		do      string
		refused bool
	}{
		{name: "a replica that has never led writes what every replica does", do: ""},
		{name: "also while it sees another lead", do: "other look"},
		{name: "a leader writes", do: "hold"},
		{name: "a leader that renews writes", do: "hold wait renew wait renew wait"},
		{name: "a leader that was stopped for the time of its lease does not", do: "hold wait wait", refused: true},
		{name: "nor after that, when it sees who leads now", do: "hold wait wait other look", refused: true},
		{name: "one that sees another lead does not, however fresh its own lease is", do: "hold other look", refused: true},
		{name: "one that gets its lease again does", do: "hold wait wait look renew"},
		{name: "a renewal that is not answered does not count", do: "hold wait fail renew wait", refused: true},
		{name: "the lease counts from before a slow request", do: "slow hold wait", refused: true},
		{name: "one that has given its lease up does not", do: "hold release", refused: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clk := clocktesting.NewFakeClock(time.Unix(0, 0))
			s := &server{clock: clk}
			l := NewLock(s, duration, clk)
			mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
			for step := range strings.FieldsSeq(tt.do) {
				switch step {
				case "hold":
					_ = l.Create(t.Context(), mine)
				case "renew":
					_ = l.Update(t.Context(), mine)
				case "release":
					_ = l.Update(t.Context(), resourcelock.LeaderElectionRecord{})
				case "look":
					_, _, _ = l.Get(t.Context())
				case "other":
					s.holder = "other"
				case "fail":
					s.fails = true
				case "slow":
					s.takes = 8 * time.Second
				case "wait":
					clk.Step(8 * time.Second)
				default:
					t.Fatalf("what is %q?", step)
				}
			}
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				sent := false
				next := roundTripper(func(*http.Request) (*http.Response, error) { sent = true; return &http.Response{}, nil })
				body := &closing{Reader: strings.NewReader("{}")}
				req, err := http.NewRequestWithContext(t.Context(), method, "https://api.invalid/api/v1/namespaces", body)
				if err != nil {
					t.Fatal(err)
				}
				_, err = l.Fence(next).RoundTrip(req) //nolint:bodyclose // there is none
				refused := tt.refused && method != http.MethodGet
				if sent == refused || errors.Is(err, ErrLost) != refused || body.closed != refused {
					t.Errorf("%s: sent: %t, error: %v, body closed: %t", method, sent, err, body.closed)
				}
			}
		})
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
