// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	programs "github.com/holdfast-dev/holdfast/hack/build"
)

const (
	// user is who the manager runs as; the chart says the same.
	user = "65532:65532"
	// sbomType is that of what is in an image.
	sbomType = "application/spdx+json"
)

type options struct {
	pkg, name, version, base, dir string
	platforms                     []string
}

// build writes the layout and returns the digest of the index in it.
func build(ctx context.Context, o options) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var about []mutate.IndexAddendum
	for _, name := range o.platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return v1.Hash{}, err
		}
		image, sbom, err := o.image(ctx, platform)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%s: %w", name, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		about = append(about, mutate.IndexAddendum{Add: sbom, Descriptor: v1.Descriptor{ArtifactType: sbomType}})
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, err
	}
	if err := os.RemoveAll(o.dir); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(o.dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index); err != nil {
		return v1.Hash{}, err
	}
	for _, a := range about {
		image, ok := a.Add.(v1.Image)
		if !ok {
			return v1.Hash{}, errors.New("what is in an image is no image itself")
		}
		if err := path.AppendImage(image); err != nil {
			return v1.Hash{}, err
		}
	}
	return digest, nil
}

// image is that for one platform, and what is in it.
func (o options) image(ctx context.Context, platform *v1.Platform) (image, sbom v1.Image, err error) {
	dir, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, o.name)
	if err := programs.Compile(ctx, programs.Program{Package: o.pkg, OS: platform.OS, Arch: platform.Architecture, Version: o.version}, binary); err != nil {
		return nil, nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if o.base != "" {
		if base, err = crane.Pull(o.base, crane.WithContext(ctx), crane.WithPlatform(platform)); err != nil {
			return nil, nil, fmt.Errorf("get the base: %w", err)
		}
	}
	if image, err = o.onto(base, platform, binary); err != nil {
		return nil, nil, err
	}
	sbom, err = sbomOf(image, binary, o.name)
	return image, sbom, err
}

// onto puts the binary onto a base.
func (o options) onto(base v1.Image, platform *v1.Platform, binary string) (v1.Image, error) {
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files) // without times
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: o.name, Mode: 0o555, Size: int64(len(text))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = platform.OS, platform.Architecture, platform.Variant
	file.Config.Entrypoint, file.Config.Cmd, file.Config.User = []string{"/" + o.name}, nil, user
	file.Config.Labels = map[string]string{"org.opencontainers.image.source": "https://github.com/holdfast-dev/holdfast"}
	return mutate.ConfigFile(image, file)
}
