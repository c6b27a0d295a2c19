// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	modulePath    = "github.com/holdfast-dev/holdfast"
	cacheVariable = "HOLDFAST_CACHE"
	binaryName    = "localcluster"
	kubectlName   = "kubectl"

	// unusedFor is how long a binary nobody starts is kept.
	unusedFor = 14 * 24 * time.Hour
)

// Binary returns the path of the localcluster binary, building it into the cache first if it is not
// there, which takes minutes and is reported to progress. A link named kubectl lies beside it. The
// cache is the folder that HOLDFAST_CACHE names, or else "holdfast" in the user's cache folder.
// However many processes call Binary at once, one builds and the others wait for it.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	b, err := newBuild(ctx, progress)
	if err != nil {
		return "", err
	}
	if markUsed(b.binary()) {
		return b.binary(), nil
	}
	lock, err := acquire(ctx, filepath.Join(b.cache, binaryName+".lock"), progress)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if markUsed(b.binary()) { // built while this process waited for the lock
		return b.binary(), nil
	}
	if err := b.run(ctx, lock); err != nil {
		return "", err
	}
	removeUnused(b.cache, b.folder, time.Now())
	return b.binary(), nil
}

// build is the binary that belongs to the source as it is, and how to make it.
type build struct {
	source   string   // folder of the nested module
	flags    []string // of go build
	cache    string
	folder   string // in the cache, for this binary alone
	progress io.Writer
}

func newBuild(ctx context.Context, progress io.Writer) (build, error) {
	b := build{progress: progress}
	var err error
	if b.source, err = findSource(); err != nil {
		return b, err
	}
	if b.flags, err = buildFlags(b.source); err != nil {
		return b, err
	}
	if b.cache, err = cacheDir(); err != nil {
		return b, err
	}
	key, err := b.key(ctx)
	if err != nil {
		return b, err
	}
	b.folder = filepath.Join(b.cache, binaryName+"-"+key)
	return b, nil
}

func (b build) binary() string { return filepath.Join(b.folder, binaryName) }

// findSource returns the folder of the nested module, in the checkout that holds the working directory.
func findSource() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w", binaryName, err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && slices.Contains(strings.Split(string(module), "\n"), "module "+modulePath) {
			return filepath.Join(dir, binaryName), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the source of %s: %s is not in a checkout of %s", binaryName, start, modulePath)
		}
	}
}

func cacheDir() (string, error) {
	cache := os.Getenv(cacheVariable)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache, which %s can name: %w", cacheVariable, err)
		}
		cache = filepath.Join(user, "holdfast")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("find the cache: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache: %w", err)
	}
	return cache, nil
}

// buildFlags returns the flags of go build. The components report as their version what these flags
// say, which is the version of Kubernetes that the nested module requires.
func buildFlags(source string) ([]string, error) {
	module, err := os.Open(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the Kubernetes version: %w", err)
	}
	defer module.Close()
	version := ""
	for lines := bufio.NewScanner(module); version == "" && lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "k8s.io/kubernetes" {
			version = fields[1]
		}
	}
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 3 {
		return nil, fmt.Errorf("read the Kubernetes version: %s has none", module.Name())
	}

	linker := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, set := range []string{
			"gitVersion=" + version, "gitMajor=" + parts[0], "gitMinor=" + parts[1],
			"gitCommit=", // unknown here; unset it is an unexpanded placeholder
		} {
			linker = append(linker, "-X "+pkg+"."+set)
		}
	}
	return []string{"-trimpath", "-buildvcs=false", "-ldflags=" + strings.Join(linker, " ")}, nil
}

// key identifies the binary by everything that decides what is in it.
func (b build) key(ctx context.Context) (string, error) {
	env, err := b.command(ctx, "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("ask for the Go version: %w", commandError(err))
	}
	files, err := b.files()
	if err != nil {
		return "", fmt.Errorf("list the source of %s: %w", binaryName, err)
	}

	hash := sha256.New()
	fmt.Fprintf(hash, "%s%q", env, b.flags)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the source of %s: %w", binaryName, err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", strings.TrimPrefix(file, b.source), len(content), content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// files returns the files of the nested module that are in the binary or decide what is.
func (b build) files() ([]string, error) {
	files := []string{filepath.Join(b.source, "go.mod"), filepath.Join(b.source, "go.sum")}
	err := filepath.WalkDir(b.source, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// markUsed reports whether the binary is there, and if so remembers that it is used.
func markUsed(binary string) bool {
	now := time.Now()
	return os.Chtimes(binary, now, now) == nil
}

// removeUnused removes the binaries nobody has used for long, except the one in keep. What cannot be
// removed is tried again after the next build: a cache that stays too big must not fail a test.
func removeUnused(cache, keep string, now time.Time) {
	folders, err := filepath.Glob(filepath.Join(cache, binaryName+"-*"))
	if err != nil {
		return
	}
	for _, folder := range folders {
		info, err := os.Stat(filepath.Join(folder, binaryName))
		if errors.Is(err, fs.ErrNotExist) {
			info, err = os.Stat(folder) // a build that did not end
		}
		if err == nil && folder != keep && now.Sub(info.ModTime()) > unusedFor {
			_ = os.RemoveAll(folder)
		}
	}
}

// commandError adds to a command's exit code what the command said.
func commandError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
