// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

const versionVariable = "github.com/holdfast-dev/holdfast/internal/platform/version.Version"

// Build builds one of the commands under cmd/ and returns its path. Each caller
// gets what the sources say now; the go tool does nothing when that is what is
// there. With race the race detector is built in.
func Build(ctx context.Context, name string, race bool, progress io.Writer) (string, error) {
	return BuildVersion(ctx, name, "", race, progress)
}

// BuildVersion is Build for one that says that it is of a certain version; an empty one is
// that of the sources.
func BuildVersion(ctx context.Context, name, version string, race bool, progress io.Writer) (string, error) {
	root, err := cluster.ModuleRoot()
	if err != nil {
		return "", err
	}
	cache, err := cluster.CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	dir := filepath.Join(cache, "bin-"+hex.EncodeToString(sum[:6]))
	args := []string{"build"} // with the flags of go test, so that one compilation serves both
	if race {
		dir, args = filepath.Join(dir, "race"), append(args, "-race")
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
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", path, "./cmd/"+name)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, progress, progress
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
