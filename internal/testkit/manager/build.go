// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

const (
	// FolderVariable names the folder that BuildAll has made. Its name is the sum of what a test goes by and
	// its process does not open: Go's cache of test results sees by it that something else is tested.
	FolderVariable = "HOLDFAST_BINARIES"

	versionVariable = "github.com/holdfast-dev/holdfast/internal/platform/version.Version"

	// unusedFor is how long such a folder is kept.
	unusedFor = 24 * time.Hour
)

// given are the folders whose files are for the API server, by kubectl.
var given = []string{"config", "charts/holdfast"}

// Build returns the path of one of the commands under cmd/: of the folder that HOLDFAST_BINARIES names, or
// else built as the sources are now; the go tool does nothing when that is what is there. With race the
// race detector is built in.
func Build(ctx context.Context, name string, race bool, progress io.Writer) (string, error) {
	if folder := os.Getenv(FolderVariable); folder != "" {
		return filepath.Join(folder, name), nil
	}
	return BuildVersion(ctx, name, "", race, progress)
}

// BuildAll builds the manager and the plugin into a folder for FolderVariable.
func BuildAll(ctx context.Context, race bool, progress io.Writer) (string, error) {
	root, err := nested.Root()
	if err != nil {
		return "", err
	}
	cache, err := nested.Cache()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	var paths []string
	for _, name := range []string{"holdfast-manager", "kubectl-holdfast"} {
		path, err := BuildVersion(ctx, name, "", race, progress)
		if err != nil {
			return "", err
		}
		paths = append(paths, path)
		if err := addFile(sum, path); err != nil {
			return "", err
		}
	}
	for _, folder := range given {
		if err := addFolder(sum, filepath.Join(root, folder)); err != nil {
			return "", err
		}
	}
	plane, err := cluster.Binary(ctx, progress) // its path says what it is
	if err != nil {
		return "", err
	}
	fmt.Fprintln(sum, plane)

	folder := filepath.Join(cache, "binaries-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the binaries: %w", err)
	}
	for _, path := range paths {
		if err := link(path, filepath.Join(folder, filepath.Base(path))); err != nil {
			return "", err
		}
	}
	removeUnused(cache, folder, time.Now())
	return folder, nil
}

// link makes a file be there under another path too. The go tool replaces a binary by another file, so that
// this one stays.
func link(path, as string) error {
	err := os.Link(path, as+".new")
	if err == nil {
		err = os.Rename(as+".new", as) // at once: another run may use it
	}
	_ = os.Remove(as + ".new") // there if both were one file already
	if err != nil {
		return fmt.Errorf("put %s where the tests find it: %w", filepath.Base(path), err)
	}
	return nil
}

// removeUnused removes the folders of earlier runs. What cannot be removed must not fail a test.
func removeUnused(cache, keep string, now time.Time) {
	_ = os.Chtimes(keep, now, now)
	folders, err := filepath.Glob(filepath.Join(cache, "binaries-*"))
	if err != nil {
		return
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && folder != keep && now.Sub(info.ModTime()) > unusedFor {
			_ = os.RemoveAll(folder)
		}
	}
}

func addFolder(sum hash.Hash, folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		fmt.Fprintln(sum, strings.TrimPrefix(path, folder))
		return addFile(sum, path)
	})
}

func addFile(sum hash.Hash, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read what is tested: %w", err)
	}
	defer file.Close()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("read what is tested: %w", err)
	}
	return nil
}

// BuildVersion is Build for one that says that it is of a certain version, which is always built; an empty one
// is that of the sources.
func BuildVersion(ctx context.Context, name, version string, race bool, progress io.Writer) (string, error) {
	root, err := nested.Root()
	if err != nil {
		return "", err
	}
	cache, err := nested.Cache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin-"+nested.Digest(root))
	args, env := []string{"build"}, os.Environ() // with the flags of go test, so that one compilation serves both
	if race {
		dir, args, env = filepath.Join(dir, "race"), append(args, "-race"), append(env, "CGO_ENABLED=1")
	}
	if version != "" {
		dir, args = filepath.Join(dir, version), append(args, "-ldflags=-X "+versionVariable+"="+version)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make cache: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, []string{"-buildvcs=false", "-o", path, "./cmd/" + name})...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, env, progress, progress
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// lock keeps other processes from building the same file at the same moment.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
