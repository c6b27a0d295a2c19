// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// rereadInterval is how often the file is read without an event: events are
	// lost when a directory is replaced or the kernel's queue overflows.
	rereadInterval = time.Minute
	// settleDelay lets a writer finish that empties the file and fills it again.
	settleDelay = 100 * time.Millisecond
)

// ReadFile reads the configuration file, at most a little more than MaxSize of
// it, which Load refuses.
func ReadFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the path is a flag of whoever runs the process
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return data, nil
}

// FileSource feeds a store from a file, on every replica, as a Runnable of the manager.
// It watches the file's directory, not the file: the kubelet updates a ConfigMap
// volume by swapping a symbolic link beside it, and editors put a new file in
// the place of the old one. A volume mounted with subPath is never updated by
// the kubelet.
type FileSource struct {
	store *Store
	path  string
	clock clock.WithTicker
}

// NewFileSource returns the Runnable for the file at path.
func NewFileSource(store *Store, path string, clk clock.WithTicker) *FileSource {
	return &FileSource{store: store, path: path, clock: clk}
}

// NeedLeaderElection says that every replica reads the file.
func (*FileSource) NeedLeaderElection() bool { return false }

// Start reads the file at once and on every change until the context ends. It
// never fails: without events the file is still read once a minute.
func (f *FileSource) Start(ctx context.Context) error {
	reader := fileReader{FileSource: f, log: log.FromContext(ctx).WithName("config").WithValues("path", f.path)}
	var events <-chan fsnotify.Event
	var failures <-chan error
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		reader.log.Error(err, "No events for the configuration file, it is read once a minute")
	} else {
		reader.watcher, events, failures = watcher, watcher.Events, watcher.Errors
		defer watcher.Close() //nolint:errcheck // the process ends
	}
	ticker := f.clock.NewTicker(rereadInterval)
	defer ticker.Stop()

	reader.watch()
	reader.read()
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			if settled == nil {
				settled = f.clock.After(settleDelay)
			}
		case err := <-failures:
			reader.log.Error(err, "Events for the configuration file may be lost, it is read once a minute as well")
		case <-settled:
			settled = nil
			reader.read()
		case <-ticker.C():
			reader.watch()
			reader.read()
		}
	}
}

// fileReader is one run of FileSource.
type fileReader struct {
	*FileSource
	log     logr.Logger
	watcher *fsnotify.Watcher
	// said is the error logged last; the same one is not logged every minute.
	said string
}

// watch asks for the events of the directory. Asked again it finds a directory
// that was made anew, and does nothing otherwise.
func (r *fileReader) watch() {
	if r.watcher == nil {
		return
	}
	if err := r.watcher.Add(filepath.Dir(r.path)); err != nil {
		r.log.V(1).Info("No events for the configuration file yet", "error", err.Error())
	}
}

func (r *fileReader) read() {
	before := r.store.Current()
	data, err := ReadFile(r.path)
	if err != nil {
		err = r.store.Reject(err, r.path)
	} else {
		err = r.store.Offer(data, r.path)
	}
	if err != nil {
		if r.said != err.Error() {
			r.log.Error(err, "Configuration refused, the last good one stays in force")
		}
		r.said = err.Error()
		return
	}
	r.said = ""
	if r.store.Current() != before {
		r.log.Info("Configuration changed")
	}
}
