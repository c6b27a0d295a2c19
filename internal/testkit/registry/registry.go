// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry is a real registry of images on loopback. It counts what it is asked,
// and fails as it is told to.
package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
)

// Options say how the registry is reached.
type Options struct {
	// Username and Password are asked for if there is a password.
	Username, Password string
	// TLS makes it https, with a certificate that CA returns.
	TLS bool
}

// Counts are what the registry was asked since it began.
type Counts struct {
	Heads, Manifests, Blobs int
}

// Fault is how the registry fails.
type Fault struct {
	// Status answers every request with this code.
	Status int
	// CutBlobAfter drops the connection after so many bytes of a layer.
	CutBlobAfter int
}

// Server is a registry.
type Server struct {
	http    *httptest.Server
	handler http.Handler
	options Options

	mu     sync.Mutex
	counts Counts
	fault  Fault
	pass   string
}

// TB is a testing.TB, or what a demo has for one.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start starts a registry, and ends it with the test.
func Start(t TB, o Options) *Server {
	t.Helper()
	s := &Server{handler: registry.New(registry.Logger(loopback.NoLog())), options: o, pass: o.Password}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Config.ErrorLog = loopback.NoLog()
	t.Cleanup(s.http.Close)
	if !o.TLS {
		s.http.Start()
		return s
	}
	s.http.StartTLS()
	return s
}

// Image is the name of an image in the registry.
func (s *Server) Image(repository string) string {
	return s.http.Listener.Addr().String() + "/" + repository
}

// CA is what a client has to trust, in PEM; "" without TLS.
func (s *Server) CA() string {
	if s.http.Certificate() == nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw}))
}

// SetPassword changes the password: those that clients have expire.
func (s *Server) SetPassword(pass string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass = pass
}

// SetFault makes the registry fail from now on.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Counts are what it was asked.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault, pass := s.fault, s.pass
	blob := strings.Contains(r.URL.Path, "/blobs/")
	manifest := strings.Contains(r.URL.Path, "/manifests/")
	switch {
	case manifest && r.Method == http.MethodHead:
		s.counts.Heads++
	case manifest && r.Method == http.MethodGet:
		s.counts.Manifests++
	case blob && r.Method == http.MethodGet:
		s.counts.Blobs++
	}
	s.mu.Unlock()
	if fault.Status != 0 {
		http.Error(w, http.StatusText(fault.Status), fault.Status)
		return
	}
	if _, p, _ := r.BasicAuth(); p != pass {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if blob && r.Method == http.MethodGet && fault.CutBlobAfter > 0 {
		w = &cut{ResponseWriter: w, left: fault.CutBlobAfter}
	}
	s.handler.ServeHTTP(w, r)
}

type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(c.left, len(p))])
	if c.left -= n; c.left <= 0 {
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// Entry is one of a layer.
type Entry = tar.Header

// Layer is one with these files.
func Layer(t TB, files map[string]string) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(files[path])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, files[path])
	}
	_ = w.Close()
	return RawLayer(t, b.Bytes())
}

// EntriesLayer is one with these entries, which have no content.
func EntriesLayer(t TB, entries ...*Entry) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if err := w.WriteHeader(e); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	return RawLayer(t, b.Bytes())
}

// RawLayer is one of whatever there is.
func RawLayer(t TB, content []byte) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content)
	_ = z.Close()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// Push puts an image of layers under a name as of Image, with a tag if need be, and
// returns its digest.
func (s *Server) Push(t TB, image string, layers ...v1.Layer) (digest string) {
	t.Helper()
	made, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	options := []remote.Option{remote.WithContext(context.Background()), remote.WithTransport(s.http.Client().Transport)}
	s.mu.Lock()
	pass := s.pass
	s.mu.Unlock()
	if pass != "" {
		options = append(options, remote.WithAuth(authn.FromConfig(authn.AuthConfig{Username: s.options.Username, Password: pass})))
	}
	if err := remote.Write(ref, made, options...); err != nil {
		t.Fatal(err)
	}
	hash, err := made.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}
