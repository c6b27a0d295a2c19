// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLink is how long the target of a link may be, as on Linux.
const maxLink = 4095

// Writer writes the files of one commit or image into a folder of its own, never beyond
// it and never beyond the limits. Its errors are those of Content where what comes is at
// fault.
type Writer struct {
	root   *os.Root
	limits Limits
	files  int
	bytes  int64
}

// NewWriter makes the folder; it must not exist yet.
func NewWriter(dir string, limits Limits) (*Writer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Writer{root: root, limits: limits}, nil
}

// Close ends the writing, before Finish or after it.
func (w *Writer) Close() error { return w.root.Close() }

// Clean is a path of a tree in the one form that the other methods take. It refuses what
// is absolute or leads out.
func Clean(name string) (string, error) {
	name = strings.TrimPrefix(name, "./")
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", Content("%q is no path inside of the tree", name)
	}
	return path.Clean(name), nil
}

// Take counts files and bytes that are to come, so that a tree that is too large is
// refused before it is written.
func (w *Writer) Take(files int, bytes int64) error {
	w.files += files
	w.bytes += bytes
	if w.files > w.limits.TreeFiles {
		return Content("it has more than %d files", w.limits.TreeFiles)
	}
	if bytes < 0 || w.bytes > w.limits.TreeBytes {
		return Content("its files have more than %d MiB", w.limits.TreeBytes>>20)
	}
	return nil
}

// Dir makes a folder and those above it.
func (w *Writer) Dir(name string) error {
	if info, err := w.root.Lstat(name); err == nil && !info.IsDir() {
		if target, err := w.root.Stat(name); err == nil && target.IsDir() {
			return nil // a link to a folder stays one
		}
		if err := w.root.Remove(name); err != nil {
			return w.blame(name, err)
		}
	}
	return w.blame(name, w.root.MkdirAll(name, 0o700))
}

// File writes a file of a size that was taken before.
func (w *Writer) File(name string, executable bool, size int64, r io.Reader) error {
	if err := w.clear(name); err != nil {
		return err
	}
	mode := os.FileMode(0o400)
	if executable {
		mode = 0o500
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return w.blame(name, err)
	}
	_, err = io.CopyN(f, r, size)
	return errors.Join(err, f.Close())
}

// Link writes a symbolic link. It may lead out: nothing is written through it, and whoever reads the folder does not
// follow it.
func (w *Writer) Link(name, target string) error {
	if target == "" || len(target) > maxLink || strings.ContainsRune(target, 0) {
		return Content("%s is a symbolic link to nothing", name)
	}
	if err := w.clear(name); err != nil {
		return err
	}
	return w.blame(name, w.root.Symlink(target, name))
}

// HardLink gives a file another name.
func (w *Writer) HardLink(name, target string) error {
	if name == target {
		return nil
	}
	if err := w.clear(name); err != nil {
		return err
	}
	return w.blame(name, w.root.Link(target, name))
}

// Remove takes out a file, or a folder with what is in it.
func (w *Writer) Remove(name string) error { return w.blame(name, w.root.RemoveAll(name)) }

// Empty takes out what is in a folder.
func (w *Writer) Empty(name string) error {
	entries, err := fs.ReadDir(w.root.FS(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, w.root.RemoveAll(path.Join(name, e.Name())))
	}
	return w.blame(name, err)
}

// clear makes room for a file: the folders above it, and nothing at its place.
func (w *Writer) clear(name string) error {
	if dir := path.Dir(name); dir != "." {
		if err := w.root.MkdirAll(dir, 0o700); err != nil {
			return w.blame(dir, err)
		}
	}
	switch info, err := w.root.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return w.blame(name, err)
	case info.IsDir():
		return w.blame(name, w.root.RemoveAll(name))
	}
	return w.blame(name, w.root.Remove(name))
}

// blame says whose fault it is that a path cannot be written: that of the tree, unless
// the disk is full or taken away.
func (*Writer) blame(name string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case err == nil:
		return nil
	case isDisk(err):
		return err
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return Content("%s cannot be written: %v", name, err)
}

// Finish makes the folder read-only. Links in it may lead out.
func (w *Writer) Finish() error {
	var dirs []string
	err := fs.WalkDir(w.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs = append(dirs, name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	for _, dir := range dirs {
		if err := w.root.Chmod(dir, 0o500); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes a folder that Finish has made read-only.
func RemoveAll(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // it is about to be removed
		}
		return nil // what cannot be removed is told below
	})
	return os.RemoveAll(dir)
}
