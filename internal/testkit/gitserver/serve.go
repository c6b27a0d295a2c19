// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	"io"
	"net/http"
	"net/http/cgi" //nolint:gosec // what was wrong with it was mended in Go 1.6.3
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
)

// maxPeek is how much of a request is looked at to know what it asks.
const maxPeek = 64

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	repo, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	s.mu.Lock()
	fault, user, pass, now := s.fault, s.user, s.pass, s.sentOn[repo]
	s.mu.Unlock()
	if now != "" {
		http.Redirect(w, r, "/"+now+".git/"+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently) //nolint:gosec // a test has named the address
		return
	}
	switch {
	case fault.Stall:
		s.stalled.Add(1)
		defer s.stalled.Add(-1)
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the client is not seen
		<-r.Context().Done()
		return
	case fault.RedirectTo != "":
		http.Redirect(w, r, fault.RedirectTo+r.URL.RequestURI(), http.StatusFound) //nolint:gosec // it is to send on
		return
	case fault.Status != 0:
		http.Error(w, http.StatusText(fault.Status), fault.Status)
		return
	case !allowed(r, user, pass):
		s.count(repo, func(c *Counts) { c.Refused++ })
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	lists, fetches := s.asks(r, fault.Old)
	s.count(repo, func(c *Counts) {
		c.Lists += lists
		c.Fetches += fetches
	})
	env := []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	if fault.Old {
		r.Header.Del("Git-Protocol")
	}
	if p := r.Header.Get("Git-Protocol"); p != "" {
		env = append(env, "GIT_PROTOCOL="+p)
	}
	if fault.CutPackAfter > 0 && fetches > 0 {
		w = &cut{ResponseWriter: w, left: fault.CutPackAfter}
	}
	(&cgi.Handler{Path: s.backend, Dir: s.dir, Env: env, InheritEnv: []string{"PATH"}, Stderr: io.Discard, Logger: loopback.NoLog()}).ServeHTTP(w, r)
}

// allowed says whether a request has the right credentials.
func allowed(r *http.Request, user, pass string) bool {
	if pass == "" {
		return true
	}
	u, p, _ := r.BasicAuth()
	return subtle.ConstantTimeCompare([]byte(u+"\n"+p), []byte(user+"\n"+pass)) == 1
}

// asks says what a request is: a list of refs, or commits. The newer protocol asks for
// both in the body; in the older one the first request is the list.
func (*Server) asks(r *http.Request, old bool) (lists, fetches int) {
	if r.Method == http.MethodGet {
		if old {
			lists = 1
		}
		return lists, 0
	}
	body := bufio.NewReader(r.Body)
	start, _ := body.Peek(maxPeek)
	if r.Header.Get("Content-Encoding") == "gzip" {
		all, _ := body.Peek(body.Size())
		if z, err := gzip.NewReader(bytes.NewReader(all)); err == nil {
			start = make([]byte, maxPeek)
			_, _ = io.ReadFull(z, start)
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	if bytes.Contains(start, []byte("command=ls-refs")) {
		return 1, 0
	}
	return 0, 1
}

// cut drops the connection in the middle of an answer.
type cut struct {
	http.ResponseWriter
	left int64
}

func (c *cut) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.ResponseWriter.Write(p)
	if c.left -= int64(n); c.left <= 0 {
		if f, ok := c.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	return n, err
}
