// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

var anybody = configv1alpha1.WebhookClients{}

const kind = "application/json"

func TestRequests(t *testing.T) {
	t.Parallel()
	b := production()
	b.body = 100
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo, "/large": large{echo}, "/gate": gated{echo}})
	c := r.client(nil)
	text := func(n int) io.Reader { return strings.NewReader(strings.Repeat("x", n)) }
	chunked := func(n int) io.Reader { return io.MultiReader(text(n)) }
	for _, tt := range []struct {
		name, method, path, kind string
		body                     io.Reader
		want                     int
		text                     string
	}{
		{"a review", http.MethodPost, "/echo", kind, text(3), http.StatusOK, "xxx"},
		{"a content type with a parameter", http.MethodPost, "/echo", kind + "; charset=utf-8", text(3), http.StatusOK, "xxx"},
		{"nothing", http.MethodPost, "/echo", kind, nil, http.StatusOK, ""},
		{"another content type", http.MethodPost, "/echo", "text/plain", text(3), http.StatusUnsupportedMediaType, "the content type must be application/json"},
		{"no content type", http.MethodPost, "/echo", "", text(3), http.StatusUnsupportedMediaType, "the content type must be application/json"},
		{"a content type with a mistake", http.MethodPost, "/echo", kind + ";;", text(3), http.StatusUnsupportedMediaType, "the content type must be application/json"},
		{"a look with a browser", http.MethodGet, "/echo", "", nil, http.StatusMethodNotAllowed, "post an AdmissionReview here"},
		{"another method", http.MethodPut, "/echo", kind, text(3), http.StatusMethodNotAllowed, "post an AdmissionReview here"},
		{"another path", http.MethodPost, "/metrics", kind, text(1000), http.StatusNotFound, "404 page not found"},
		{"the largest body", http.MethodPost, "/echo", kind, text(100), http.StatusOK, strings.Repeat("x", 100)},
		{"one byte more", http.MethodPost, "/echo", kind, text(101), http.StatusRequestEntityTooLarge, "the body has more than 100 bytes"},
		{"the largest body, of unknown length", http.MethodPost, "/echo", kind, chunked(100), http.StatusOK, strings.Repeat("x", 100)},
		{"one byte more, of unknown length", http.MethodPost, "/echo", kind, chunked(101), http.StatusRequestEntityTooLarge, "the body has more than 100 bytes"},
		{"a path for larger ones", http.MethodPost, "/large", kind, text(101), http.StatusOK, strings.Repeat("x", 101)},
		{"more than that", http.MethodPost, "/large", kind, text(1001), http.StatusRequestEntityTooLarge, "the body has more than 1000 bytes"},
		{"a path that knows its clients", http.MethodPost, "/gate", kind, text(3), http.StatusUnauthorized, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, got, err := r.do(c, tt.method, tt.path, tt.kind, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.want || got != tt.text {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, got, tt.want, tt.text)
			}
			if resp.ProtoMajor != 1 {
				t.Errorf("got %s", resp.Proto)
			}
			if allow := resp.Header.Get("Allow"); (allow == http.MethodPost) != (tt.want == http.StatusMethodNotAllowed) {
				t.Errorf("got header Allow: %q", allow)
			}
		})
	}
}

// large is a handler of larger bodies.
type large struct{ http.Handler }

func (large) MaxBody() int64 { return 1000 }

// gated is a handler that knows its clients. It must not see the body of others.
type gated struct{ http.Handler }

func (gated) Admit(w http.ResponseWriter, _ *http.Request) bool {
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

// header of a request with a body of a size, of which the client sends less.
func header(size int) string {
	return fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
}

// until reads what the server says until it closes the connection.
func until(t *testing.T, c net.Conn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		t.Error("the server waits for the client for a minute")
	}
	first, _, _ := strings.Cut(string(text), "\r\n")
	return first
}

// A client that does not send what it has begun is left.
func TestSlow(t *testing.T) {
	t.Parallel()
	b := production()
	b.bodyTime = 300 * time.Millisecond
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo})
	for name, tt := range map[string]struct{ sends, want string }{
		"nothing":                        {"", ""},
		"half a header":                  {"POST /echo HTTP/1.1\r\nHo", "HTTP/1.1 400 Bad Request"},
		"half a body":                    {header(10) + "xxxxx", "HTTP/1.1 408 Request Timeout"},
		"half a large body":              {header(1<<20) + "xxxxx", "HTTP/1.1 408 Request Timeout"},
		"half a body to no path":         {strings.Replace(header(10), "/echo", "/x", 1) + "x", "HTTP/1.1 404 Not Found"},
		"half a body with another type":  {strings.Replace(header(10), kind, "a/b", 1) + "x", "HTTP/1.1 415 Unsupported Media Type"},
		"half a body that is too large":  {header(8<<20) + "x", "HTTP/1.1 413 Request Entity Too Large"},
		"a header that has no end":       {"POST /echo HTTP/1.1\r\nA: " + strings.Repeat("x", 2*maxHeader), "HTTP/1.1 431 Request Header Fields Too Large"},
		"the first of two that are sent": {header(1) + "x" + header(2) + "y", "HTTP/1.1 200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := r.dial("")
			if _, err := io.WriteString(c, tt.sends); err != nil {
				t.Fatal(err)
			}
			if got := until(t, c); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A call takes as long as it takes, although the time for its body has passed, and its context ends with the client.
func TestSlow_aCall(t *testing.T) {
	t.Parallel()
	b := production()
	b.bodyTime = 50 * time.Millisecond
	left := make(chan error, 1)
	r := start(t, b, anybody, map[string]http.Handler{
		"/works": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
				http.Error(w, r.Context().Err().Error(), http.StatusTeapot)
			case <-time.After(10 * b.bodyTime):
			}
		}),
		"/echo": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			left <- r.Context().Err()
		}),
	})
	if resp, text, err := r.post(r.client(nil), "/works", strings.NewReader("x")); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("got %v %s, %v", resp, text, err)
	}
	c := r.dial("")
	if _, err := io.WriteString(c, header(1)+"x"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A server that is told to stop finishes the calls that it has.
func TestStop_finishesCalls(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, production(), anybody, map[string]http.Handler{"/echo": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-finish
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusTeapot)
		}
	})})
	if err := r.StartedChecker()(nil); err != nil {
		t.Error(err)
	}
	answer := make(chan error, 1)
	go func() {
		resp, _, err := r.post(r.client(nil), "/echo", nil)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
		answer <- err
	}()
	<-begun
	time.AfterFunc(100*time.Millisecond, func() { close(finish) })
	r.stop()
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// strangers is another address of this machine, where it has one.
func strangers(t *testing.T) string {
	t.Helper()
	const other = "127.0.0.2"
	l, err := net.Listen("tcp", other+":0")
	if err != nil {
		return "" // and the strangers come from the address of the API server
	}
	_ = l.Close()
	return other
}

// Many clients begin large bodies and do not go on. The memory for bodies is never used up twice, small reviews pass all the
// time, and so does a large one of a client that has sent nothing else.
func TestMemory_isBounded(t *testing.T) {
	t.Parallel()
	const many = 128 << 10
	b := production()
	b.bodies, b.body, b.smallBody, b.bodyTime = 10*many, many, 1<<10, 5*time.Second
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo})
	from := strangers(t)
	sizes := []int{100, many}
	if from == "" {
		sizes = sizes[:1] // large ones of one client stand in one line
	}
	var slow []net.Conn
	for range 30 {
		c := r.dial(from)
		if _, err := io.WriteString(c, header(many)+strings.Repeat("x", 16<<10)); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	c := r.client(nil)
	for range 20 {
		for _, size := range sizes {
			resp, text, err := r.post(c, "/echo", bytes.NewReader(bytes.Repeat([]byte("y"), size)))
			if err != nil || resp.StatusCode != http.StatusOK || len(text) != size {
				t.Errorf("of a review of %d bytes: %v %s", size, err, text)
			}
		}
		if used := r.bodies.inUse(); used > 10*many {
			t.Errorf("%g bytes are in use", used)
		}
	}
	turned := 0
	for _, c := range slow[10:] { // there is no room for them
		if got := until(t, c); got == "HTTP/1.1 503 Service Unavailable" {
			turned++
		}
	}
	if turned < 10 {
		t.Errorf("%d of 20 were turned away", turned)
	}
}

// A client has more connections than there may be, and does nothing. Another gets in, each time.
func TestConnections_areBounded(t *testing.T) {
	t.Parallel()
	b := production()
	b.connections, b.grace = 20, 0
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo})
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(strangers(t))}}
	stranger := func(times int) {
		for range times {
			c, err := dialer.DialContext(t.Context(), "tcp", r.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			_, _ = io.WriteString(c, "x") // the server may have left already
		}
	}
	stranger(50)
	for range 10 {
		c := r.client(nil) // with a connection of its own
		resp, text, err := r.post(c, "/echo", strings.NewReader("x"))
		if err != nil || resp.StatusCode != http.StatusOK || text != "x" {
			t.Errorf("%v %s", err, text)
		}
		c.CloseIdleConnections()
		stranger(5)
		if used := r.conns.inUse(); used > 20 {
			t.Errorf("%g connections", used)
		}
	}
}

// A connection that is idle gives way, and one that is being answered does not.
func TestConnections_whichGiveWay(t *testing.T) {
	t.Parallel()
	b := production()
	b.connections, b.grace = 2, 0
	begun, finish := make(chan struct{}), make(chan struct{})
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo, "/works": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-finish
	})})
	answer := make(chan error, 1)
	go func() {
		_, _, err := r.post(r.client(nil), "/works", nil)
		answer <- err
	}()
	<-begun
	for range 3 {
		// The client has the answer a moment before the server has the connection idle.
		gomega.NewWithT(t).Eventually(func() error {
			_, _, err := r.post(r.client(nil), "/echo", nil)
			return err
		}, "30s", "10ms").Should(gomega.Succeed())
	}
	close(finish)
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// A client has all connections, with requests in progress. Another gets in, and what is done for the first one is cancelled.
func TestConnections_ofAClientThatHasThemAllAreCut(t *testing.T) {
	t.Parallel()
	b := production()
	b.connections, b.busy, b.grace = 4, 3, 0
	begun, cancelled := make(chan struct{}, 4), make(chan struct{}, 4)
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo, "/works": http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		begun <- struct{}{}
		<-req.Context().Done()
		cancelled <- struct{}{}
	})})
	r.comeFrom("192.0.2.1")
	for range 4 {
		c := r.dial("")
		if _, err := io.WriteString(c, "POST /works HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	r.comeFrom("192.0.2.2")
	if _, text, err := r.post(r.client(nil), "/echo", strings.NewReader("x")); err != nil || text != "x" {
		t.Errorf("another client: %v %s", err, text)
	}
	<-cancelled
}

// undecided is a handler that asks about its clients, and gets no answer.
type undecided struct {
	http.Handler
	asks, ended chan struct{}
}

func (u undecided) Admit(_ http.ResponseWriter, r *http.Request) bool {
	close(u.asks)
	<-r.Context().Done()
	close(u.ended)
	return false
}

// A request whose body has not been read waits for something else when its connection is cut: it ends at once, and its place is free.
func TestConnections_aRequestEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	b := production()
	b.connections, b.grace = 1, 0
	u := undecided{echo, make(chan struct{}), make(chan struct{})}
	r := start(t, b, anybody, map[string]http.Handler{"/echo": echo, "/undecided": u})
	if _, err := io.WriteString(r.dial(strangers(t)), "POST /undecided HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-u.asks
	if _, text, err := r.post(r.client(nil), "/echo", strings.NewReader("x")); err != nil || text != "x" {
		t.Errorf("another client: %v %s", err, text)
	}
	<-u.ended
}
