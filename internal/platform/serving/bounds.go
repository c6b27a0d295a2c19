// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// bounds of the port.
type bounds struct {
	// connections at once, and how many of them with a request in progress one client keeps while another has none.
	connections, busy int64
	// body is the size of the largest review.
	body int64
	// smallBody is the size up to which a body needs no share of bodies, the memory for all larger ones that are received
	// or worked on.
	smallBody, bodies int64

	// headerTime is for the TLS handshake, and again for the header of a request.
	headerTime time.Duration
	// bodyTime is for a body.
	bodyTime time.Duration
	// patience is how long a large body waits for memory.
	patience time.Duration
	// callTime is for the rest.
	callTime time.Duration
	// idleTime is how long a connection is kept without a request.
	idleTime time.Duration
	// grace is how long a connection or a transfer waits for its client before others are preferred to it.
	grace time.Duration
}

// production are the bounds but in tests. Of the memory limit of the chart, 512 MiB, the guard needs about 100 MiB when it is
// idle. A connection takes about 40 KiB, and what is decoded from a body up to five times its size: 40 MiB for
// connections, 5 × 32 MiB for small bodies and 5 × 32 MiB for large ones are the most that the port can take of that.
func production() bounds {
	return bounds{
		connections: 1024,    // more than the mutating requests that API servers have in flight by default, times three API servers
		busy:        768,     // more than the requests of one API server
		body:        7 << 20, // the API server takes 3 MiB of an object, and reviews can have an object and the one that it replaces
		smallBody:   32 << 10,
		bodies:      32 << 20,

		headerTime: 5 * time.Second,
		bodyTime:   3 * time.Second,   // API servers send one at once
		patience:   2 * time.Second,   // less than any webhook's timeout, so that there is an answer
		callTime:   30 * time.Second,  // an API server waits for a webhook no longer
		idleTime:   100 * time.Second, // longer than clients keep a connection: the side that closes one while the other sends on it fails that request
		grace:      time.Second,
	}
}

// maxHeader is far more than an API server's requests have.
const maxHeader = 16 << 10

// Larger is for handlers that receive what is no review, and may be larger than one.
type Larger interface {
	// MaxBody is the size of the largest body in bytes.
	MaxBody() int64
}

// Gate is for handlers that know their clients: it is asked before any of the body is read.
type Gate interface {
	// Admit reports whether to go on. If not it has answered.
	Admit(w http.ResponseWriter, r *http.Request) bool
}

// timed bounds the time that the rest of a request may take to arrive, whatever its path.
func (s *Server) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.bounds.bodyTime))
		next.ServeHTTP(w, r)
	})
}

// bound calls a handler with requests whose body has arrived as a whole, within the bounds. It lets the handler finish
// when the server is told to stop, because an answer that is missing is that of a failure.
func (s *Server) bound(next http.Handler) http.Handler {
	largest := s.bounds.body
	if larger, ok := next.(Larger); ok {
		largest = larger.MaxBody()
	}
	gate, _ := next.(Gate)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if problem := s.check(r, largest); problem != nil {
			problem.answer(w)
			return
		}
		if gate != nil && !gate.Admit(w, r) {
			return
		}
		body, release, problem := s.receive(w, r, largest)
		defer release()
		if problem != nil {
			problem.answer(w)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.bounds.callTime)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// problem is why a request is turned away.
type problem struct {
	code         int
	reason, text string
}

func (p *problem) answer(w http.ResponseWriter) {
	turnedAway.WithLabelValues(p.reason).Inc()
	if p.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	w.Header().Set("Connection", "close") // or the rest of the body would have to be received
	http.Error(w, p.text, p.code)
}

// check looks at the header of a request.
func (s *Server) check(r *http.Request, largest int64) *problem {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case !s.clients.accepts(r):
		return &problem{http.StatusForbidden, reasonCertificate, "the client's certificate is not accepted"}
	case r.Method != http.MethodPost:
		return &problem{http.StatusMethodNotAllowed, reasonNoReview, "post an AdmissionReview here"}
	case err != nil || kind != "application/json":
		return &problem{http.StatusUnsupportedMediaType, reasonNoReview, "the content type must be application/json"}
	case r.ContentLength > largest:
		return tooLarge(largest)
	}
	return nil
}

func tooLarge(largest int64) *problem {
	return &problem{http.StatusRequestEntityTooLarge, reasonSize, fmt.Sprintf("the body has more than %d bytes", largest)}
}

// receive reads a body. What it takes of the memory for bodies is held until release is called.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, largest int64) (body []byte, release func(), p *problem) {
	release = func() {}
	size := r.ContentLength
	if size < 0 { // nobody says
		size = largest
	}
	control := http.NewResponseController(w)
	var h *hold
	if size > s.bounds.smallBody {
		var err error
		h, err = s.bodies.take(r.Context(), clientAt(r.RemoteAddr), size, s.bounds.patience, func() {
			_ = control.SetReadDeadline(time.Unix(1, 0))
		})
		if err != nil {
			return nil, release, &problem{http.StatusServiceUnavailable, reasonMemory, errFull.Error()}
		}
		release = h.release
	}
	if err := control.SetReadDeadline(time.Now().Add(s.bounds.bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, release, &problem{http.StatusServiceUnavailable, reasonSlow, err.Error()}
	}
	if h != nil && h.wasCut() { // before the deadline was set, which has replaced the one that cuts
		return nil, release, &problem{http.StatusServiceUnavailable, reasonBodyCut, errFull.Error()}
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, largest), r.ContentLength)
	if h != nil && !h.busy() {
		return nil, release, &problem{http.StatusServiceUnavailable, reasonBodyCut, errFull.Error()}
	}
	if err != nil {
		return nil, release, s.unread(err)
	}
	if c := connOf(r); c != nil {
		c.hold.busy()
	}
	_ = control.SetReadDeadline(time.Time{}) // or the end of the deadline would look as if the client had gone
	return body, release, nil
}

// readAll allocates what the client says that it sends.
func readAll(from io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(from)
	}
	body := make([]byte, size)
	_, err := io.ReadFull(from, body)
	return body, err
}

// unread is why a body could not be read.
func (s *Server) unread(err error) *problem {
	var slow interface{ Timeout() bool }
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit)
	}
	if errors.As(err, &slow) && slow.Timeout() {
		return &problem{http.StatusRequestTimeout, reasonSlow, fmt.Sprintf("the body did not arrive within %s", s.bounds.bodyTime)}
	}
	return &problem{http.StatusBadRequest, reasonNoReview, "read the body: " + err.Error()}
}
