// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	registry "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// Remote is an image, and who asks for it. It is comparable.
type Remote struct {
	// Image has a tag or a digest; without either the tag is "latest".
	Image string
	// Username and Password are the keys of these names of the Secret.
	Username, Password remote.Secret
	// CA are certificates in PEM that are trusted instead of those of the system.
	CA string
}

// Options are the same for all images of a process.
type Options struct {
	Limits remote.Limits
	// HeadTimeout and PullTimeout bound one call; 0 is 30 seconds and 5 minutes.
	HeadTimeout, PullTimeout time.Duration
}

// Image is what is known of an image. It is for one goroutine.
type Image struct {
	remote  Remote
	limits  remote.Limits
	ref     name.Reference
	options []registry.Option
	head    time.Duration
	pull    time.Duration

	transport *encrypted

	digest string
}

// Open makes an Image. The transport's idle connections end by themselves.
func Open(o Options, r Remote) (*Image, *knv.Error) {
	ref, err := name.ParseReference(r.Image)
	if err != nil {
		return nil, knv.New(knv.Source, "the name of the image cannot be used: %v; correct spec.oci.image", err).Because(err)
	}
	transport := registry.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = time.Minute
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if r.CA != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(r.CA)) {
			return nil, knv.New(knv.Source, `the key "cert" of the Secret of spec.oci.caCertSecretRef has no certificate in PEM`)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	i := &Image{remote: r, limits: o.Limits.OrDefaults(), ref: ref, head: o.HeadTimeout, pull: o.PullTimeout, transport: &encrypted{RoundTripper: transport}}
	if i.head == 0 {
		i.head = 30 * time.Second
	}
	if i.pull == 0 {
		i.pull = 5 * time.Minute
	}
	auth := authn.Anonymous
	if r.Password != "" {
		auth = authn.FromConfig(authn.AuthConfig{Username: string(r.Username), Password: string(r.Password)})
	}
	i.options = []registry.Option{
		registry.WithAuth(auth), registry.WithTransport(i.transport), registry.WithUserAgent("holdfast"),
		registry.WithRetryBackoff(registry.Backoff{Steps: 1}), // whoever polls tries again
	}
	if d, ok := ref.(name.Digest); ok {
		i.digest = d.DigestStr()
	}
	return i, nil
}

func (i *Image) fixed() bool {
	_, ok := i.ref.(name.Digest)
	return ok
}

var errTimeout = errors.New("it took too long")

// Poll asks for the digest of the tag. A registry that does not answer HEAD requests is
// asked for the whole manifest.
func (i *Image) Poll(ctx context.Context, _ []remote.Target) *knv.Error {
	if i.fixed() {
		return nil
	}
	i.transport.again()
	ctx, cancel := context.WithTimeoutCause(ctx, i.head, errTimeout)
	defer cancel()
	options := append([]registry.Option{registry.WithContext(ctx)}, i.options...)
	if d, err := registry.Head(i.ref, options...); err == nil {
		i.digest = d.Digest.String()
		return nil
	} else if !isUnsure(err) {
		return i.explain(ctx, err)
	}
	d, err := registry.Get(i.ref, options...)
	if err != nil {
		return i.explain(ctx, err)
	}
	i.digest = d.Digest.String()
	return nil
}

// Known says whether there is a digest.
func (i *Image) Known(remote.Target) bool { return i.digest != "" }

// Fixed says whether the digest never changes.
func (i *Image) Fixed(remote.Target) bool { return i.fixed() }

// Resolve is what the last Poll has found, in the form of Config Sync: the digest without
// its algorithm.
func (i *Image) Resolve(context.Context, remote.Target) (string, *knv.Error) {
	hash, err := v1.NewHash(i.digest)
	if err != nil {
		return "", knv.New(knv.Source, "the image %s has no digest: %v", i.ref, err).Because(err)
	}
	return hash.Hex, nil
}

// Export pulls an image that Resolve has named, and writes its files into a new folder.
func (i *Image) Export(ctx context.Context, _ remote.Target, commit, dir string) *knv.Error {
	i.transport.again()
	ctx, cancel := context.WithTimeoutCause(ctx, i.pull, errTimeout)
	defer cancel()
	digest := i.ref.Context().Digest("sha256:" + commit)
	image, err := registry.Image(digest, append([]registry.Option{registry.WithContext(ctx)}, i.options...)...)
	if err == nil {
		err = i.write(ctx, image, dir)
	}
	if err != nil {
		_ = remote.RemoveAll(dir)
		return i.explain(ctx, err)
	}
	return nil
}

func (i *Image) write(ctx context.Context, image v1.Image, dir string) (err error) {
	layers, err := i.layers(image)
	if err != nil {
		return err
	}
	w, err := remote.NewWriter(dir, i.limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, l := range layers {
		if err := unpackLayer(ctx, l, w); err != nil {
			return err
		}
	}
	return w.Finish()
}

// layers are those of an image that is not too large to be pulled.
func (i *Image) layers(image v1.Image) ([]v1.Layer, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	left := i.limits.FetchBytes
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return nil, err
		}
		if left -= size; size < 0 || left < 0 {
			return nil, remote.Content("its layers have more than %d MiB", i.limits.FetchBytes>>20)
		}
	}
	return layers, nil
}
