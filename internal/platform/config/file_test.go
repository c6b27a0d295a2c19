// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// patience is how long to wait for an event of the file system.
const patience = time.Minute

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// mount lays a file out as the kubelet does with a ConfigMap volume: the file is
// a link into ..data, and ..data a link to a directory of its own.
func mount(t *testing.T, dir, version, content string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, version, "config.yaml"), content)
	if err := os.Symlink(version, filepath.Join(dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
}

// run starts the source and ends it with the test.
func run(t *testing.T, file *config.FileSource) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- file.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("start: %v", err)
		}
	})
}

func TestFileSource_followsChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// prepare writes the header to the file in the directory.
		prepare func(t *testing.T, dir string)
		// change writes the content to it.
		change func(t *testing.T, dir, content string)
	}{
		{
			name:    "a file that is written in place",
			prepare: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "config.yaml"), header) },
			change:  func(t *testing.T, dir, content string) { write(t, filepath.Join(dir, "config.yaml"), content) },
		},
		{
			name:    "a file that an editor puts in the place of the old one",
			prepare: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "config.yaml"), header) },
			change: func(t *testing.T, dir, content string) {
				write(t, filepath.Join(dir, ".config.yaml.swp"), content)
				rename(t, filepath.Join(dir, ".config.yaml.swp"), filepath.Join(dir, "config.yaml"))
			},
		},
		{
			name: "a ConfigMap volume whose link the kubelet swaps",
			prepare: func(t *testing.T, dir string) {
				mount(t, dir, "..1", header)
				if err := os.Symlink("..data/config.yaml", filepath.Join(dir, "config.yaml")); err != nil {
					t.Fatal(err)
				}
			},
			change: func(t *testing.T, dir, content string) {
				old, err := os.Readlink(filepath.Join(dir, "..data"))
				if err != nil {
					t.Fatal(err)
				}
				mount(t, dir, old+"1", content)
				if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name:    "a file that is gone and comes again",
			prepare: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "config.yaml"), header) },
			change: func(t *testing.T, dir, content string) {
				if err := os.Remove(filepath.Join(dir, "config.yaml")); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "config.yaml"), content)
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			dir := t.TempDir()
			test.prepare(t, dir)
			store, _ := newStore(t)
			run(t, config.NewFileSource(store, filepath.Join(dir, "config.yaml"), clock.RealClock{}))
			mode := func() configv1alpha1.Mode { return store.Current().Deletion.Mode }

			test.change(t, dir, warn)
			g.Eventually(mode, patience).Should(gomega.Equal(configv1alpha1.ModeWarn))
			test.change(t, dir, bad)
			g.Eventually(store.LastError, patience).Should(gomega.MatchError(gomega.ContainSubstring("deletion.mode")))
			g.Expect(mode()).To(gomega.Equal(configv1alpha1.ModeWarn))
			test.change(t, dir, audit)
			g.Eventually(mode, patience).Should(gomega.Equal(configv1alpha1.ModeAudit))
			g.Eventually(store.LastError, patience).Should(gomega.Succeed())
		})
	}
}

func TestFileSource_readsAgainWithoutEvents(t *testing.T) {
	t.Parallel()
	g := gomega.NewWithT(t)
	// The directory is made only later, so nothing can be watched at first.
	path := filepath.Join(t.TempDir(), "later", "config.yaml")
	store, _ := newStore(t)
	clk := clocktesting.NewFakeClock(start)
	run(t, config.NewFileSource(store, path, clk))
	g.Eventually(store.LastError, patience).Should(gomega.MatchError(gomega.ContainSubstring("no such file or directory")))

	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, warn)
	g.Eventually(clk.HasWaiters, patience).Should(gomega.BeTrue())
	clk.Step(time.Minute)
	g.Eventually(func() configv1alpha1.Mode { return store.Current().Deletion.Mode }, patience).
		Should(gomega.Equal(configv1alpha1.ModeWarn))
	g.Eventually(store.LastError, patience).Should(gomega.Succeed())
}

func TestFileSource_startsOnEveryReplica(t *testing.T) {
	t.Parallel()
	if (&config.FileSource{}).NeedLeaderElection() {
		t.Error("only the leader would read the file")
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := config.ReadFile(dir); err == nil {
		t.Error("a directory was read")
	}
	if _, err := config.ReadFile(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v of a missing file", err)
	}
	path := filepath.Join(dir, "config.yaml")
	write(t, path, header)
	if data, err := config.ReadFile(path); err != nil || string(data) != header {
		t.Errorf("read %q, %v", data, err)
	}
	write(t, path, string(make([]byte, 2*config.MaxSize)))
	if data, err := config.ReadFile(path); err != nil || len(data) != config.MaxSize+1 {
		t.Errorf("read %d bytes, %v; want one more than is taken", len(data), err)
	}
}
