// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// clusterDir is the folder of one cluster, held by one supervisor at a time.
type clusterDir struct {
	path      string
	ephemeral bool
	lock      *os.File
}

// openClusterDir creates the folder, or takes up one that an earlier run left. It refuses a folder
// with anything else in it, above all because an ephemeral one is removed at the end. Without a path
// it is a new temporary folder.
func openClusterDir(path string, ephemeral bool) (*clusterDir, error) {
	var err error
	if path == "" {
		path, err = os.MkdirTemp("", "holdfast-localcluster-")
	} else if path, err = filepath.Abs(path); err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("create the cluster's folder: %w", err)
	}

	lockPath := layout{path}.lock()
	if _, err := os.Stat(lockPath); errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("read the cluster's folder: %w", err)
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("use %s for a cluster: it has other files in it", path)
		}
	}
	// The folder may have been there, made by other means.
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, fmt.Errorf("protect the cluster's folder: %w", err)
	}
	lock, err := os.OpenFile(lockPath, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the cluster's folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: another cluster runs in it (%w)", path, err), lock.Close())
	}
	return &clusterDir{path: path, ephemeral: ephemeral, lock: lock}, nil
}

// close gives the folder up, and removes it if it is ephemeral.
func (d *clusterDir) close() error {
	var err error
	if d.ephemeral {
		if err = os.RemoveAll(d.path); err != nil {
			err = fmt.Errorf("remove the cluster's folder: %w", err)
		}
	}
	return errors.Join(err, d.lock.Close())
}
