// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// By these names a layer takes out what those below it have.
const (
	whiteout = ".wh."
	opaque   = whiteout + whiteout + ".opq"
)

// unpackLayer writes the files of one layer over those of the layers before.
func unpackLayer(ctx context.Context, l v1.Layer, w *remote.Writer) error {
	content, err := l.Uncompressed()
	if err != nil {
		return err
	}
	return errors.Join(unpack(ctx, content, w), content.Close())
}

// unpack writes the entries of a tar.
func unpack(ctx context.Context, in io.Reader, w *remote.Writer) error {
	entries := tar.NewReader(in)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		header, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			// What comes behind the end has to be read for its digest to be checked.
			_, err := io.Copy(io.Discard, in)
			return err
		case errors.Is(err, tar.ErrHeader):
			return remote.Content("a layer is no tar; build the image with layers of files, as \"crane append\" does")
		case err != nil:
			return err
		}
		if err := write(w, header, entries); err != nil {
			return err
		}
	}
}

// write writes one entry. What no source of configuration needs is refused: devices,
// pipes, sparse files.
func write(w *remote.Writer, h *tar.Header, content io.Reader) error {
	name, err := remote.Clean(strings.TrimSuffix(h.Name, "/"))
	if h.Typeflag == tar.TypeXGlobalHeader || err != nil {
		return err
	}
	if err := w.Take(1, h.Size); err != nil {
		return err
	}
	if dir, base := path.Split(name); strings.HasPrefix(base, whiteout) {
		return takeOut(w, dir, base)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return w.Dir(name)
	case tar.TypeReg:
		return w.File(name, h.Mode&0o111 != 0, h.Size, content)
	case tar.TypeSymlink:
		return w.Link(name, h.Linkname)
	case tar.TypeLink:
		target, err := remote.Clean(h.Linkname)
		if err != nil {
			return fmt.Errorf("%s is a link: %w", name, err)
		}
		return w.HardLink(name, target)
	}
	return remote.Content("%s is a device, or something else that is no file, folder or link", name)
}

// takeOut removes what the layers before have.
func takeOut(w *remote.Writer, dir, base string) error {
	if base == opaque {
		return w.Empty(path.Clean(dir))
	}
	gone := strings.TrimPrefix(base, whiteout)
	if gone == "" || gone == "." || gone == ".." {
		return remote.Content("%s takes out what is no file", dir+base)
	}
	return w.Remove(dir + gone)
}
