// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"path"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var errReadOnly = errors.New("a source is read only")

// fileSystem is what kustomize sees of a repository. Names are absolute and begin with
// top, and those that it gives out have no symbolic links in them.
type fileSystem struct{ files *files }

var _ filesys.FileSystem = fileSystem{}

// CleanedAbs splits a path into the folder where it really is, and its name if it is a file.
func (s fileSystem) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	rel, err := inside(name)
	if err != nil {
		return "", "", err
	}
	at, info, err := s.files.stat(rel)
	switch {
	case err != nil:
		return "", "", err
	case info.IsDir():
		return filesys.ConfirmedDir(path.Join(top, at)), "", nil
	}
	return filesys.ConfirmedDir(path.Join(top, path.Dir(at))), path.Base(at), nil
}

// IsDir says whether it is a folder.
func (s fileSystem) IsDir(name string) bool {
	rel, err := inside(name)
	return err == nil && s.files.isDir(rel)
}

// Exists says whether there is something.
func (s fileSystem) Exists(name string) bool {
	_, _, err := s.CleanedAbs(name)
	return err == nil
}

// ReadFile reads a file.
func (s fileSystem) ReadFile(name string) ([]byte, error) {
	rel, err := inside(name)
	if err != nil {
		return nil, err
	}
	return s.files.read(rel)
}

// ReadDir is the names in a folder.
func (s fileSystem) ReadDir(name string) ([]string, error) {
	rel, err := inside(name)
	if err != nil {
		return nil, err
	}
	return s.files.list(rel)
}

// A build uses none of the others.

// Open is not there.
func (fileSystem) Open(string) (filesys.File, error) { return nil, errors.ErrUnsupported }

// Glob is not there.
func (fileSystem) Glob(string) ([]string, error) { return nil, errors.ErrUnsupported }

// Walk is not there.
func (fileSystem) Walk(string, filepath.WalkFunc) error { return errors.ErrUnsupported }

// Create is refused.
func (fileSystem) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir is refused.
func (fileSystem) Mkdir(string) error { return errReadOnly }

// MkdirAll is refused.
func (fileSystem) MkdirAll(string) error { return errReadOnly }

// RemoveAll is refused.
func (fileSystem) RemoveAll(string) error { return errReadOnly }

// WriteFile is refused.
func (fileSystem) WriteFile(string, []byte) error { return errReadOnly }
