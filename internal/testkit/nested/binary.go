// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"bytes"
	"cmp"
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
	"strings"
	"time"
)

const (
	modulePath    = "github.com/holdfast-dev/holdfast"
	cacheVariable = "HOLDFAST_CACHE"

	// withoutPlugins is a build tag of kustomize, which kubectl imports. Without the tag the linker keeps every
	// exported method and calls the C linker, because the binary could load Go plugins. The Makefile sets it too.
	withoutPlugins = "kustomize_disable_go_plugin_support"

	// unusedFor is how long a binary nobody starts is kept.
	unusedFor = 14 * 24 * time.Hour
)

// Program is the main package of a nested module.
type Program struct {
	// Name of the binary, and of the module's folder in the checkout.
	Name string
	// About says what it is, to who waits for the build: "a Kubernetes control plane".
	About string
	// ModFile, in the module's folder, takes the place of its go.mod, and the .sum beside it
	// that of go.sum; empty for these. Tags are the build tags that go with it.
	ModFile, Tags string
	// LinkerFlags returns flags for the linker beside -s and -w, from what the go.mod file says. It may
	// be nil.
	LinkerFlags func(module *Module) ([]string, error)
	// Links are further names for the binary, beside it.
	Links []string
}

// Binary returns the path of the program's binary, building it into the cache first if it is not there,
// which takes minutes and is reported to progress, which may be nil. The cache is the folder that
// HOLDFAST_CACHE names, or else "holdfast" in the user's cache folder. However many processes call Binary
// at once, one builds and the others wait for it.
func (p Program) Binary(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	b, err := p.newBuild(ctx, progress)
	if err != nil {
		return "", err
	}
	if markUsed(b.binary()) {
		return b.binary(), nil
	}
	lock, err := acquire(ctx, filepath.Join(b.cache, p.Name+".lock"), p.Name, progress)
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
	p.removeUnused(b.cache, b.folder, time.Now())
	return b.binary(), nil
}

// Built returns the path of the program's binary if that is in the cache, and builds nothing.
func (p Program) Built(ctx context.Context) (path string, ok bool) {
	b, err := p.newBuild(ctx, io.Discard)
	if err != nil || !markUsed(b.binary()) {
		return "", false
	}
	return b.binary(), true
}

// build is the binary that belongs to the source as it is, and how to make it.
type build struct {
	Program
	source   string   // folder of the nested module
	flags    []string // of go build
	cache    string
	folder   string // in the cache, for this binary alone
	progress io.Writer
}

func (p Program) newBuild(ctx context.Context, progress io.Writer) (build, error) {
	b := build{Program: p, progress: progress}
	root, err := Root()
	if err != nil {
		return b, err
	}
	b.source = filepath.Join(root, p.Name)
	if b.flags, err = p.buildFlags(b.source); err != nil {
		return b, err
	}
	if b.cache, err = Cache(); err != nil {
		return b, err
	}
	key, err := b.key(ctx)
	if err != nil {
		return b, err
	}
	b.folder = filepath.Join(b.cache, p.Name+"-"+key)
	return b, nil
}

func (b build) binary() string { return filepath.Join(b.folder, b.Name) }

// buildFlags returns the flags of go build.
func (p Program) buildFlags(source string) ([]string, error) {
	linker := []string{"-s", "-w"}
	if p.LinkerFlags != nil {
		more, err := p.LinkerFlags(&Module{File: filepath.Join(source, p.modFile())})
		if err != nil {
			return nil, fmt.Errorf("decide how to link %s: %w", p.Name, err)
		}
		linker = append(linker, more...)
	}
	flags := []string{"-buildvcs=false", "-ldflags=" + strings.Join(linker, " "), "-tags=" + strings.Trim(withoutPlugins+","+p.Tags, ",")}
	if p.ModFile != "" {
		flags = append(flags, "-modfile="+p.ModFile)
	}
	return flags, nil
}

func (p Program) modFile() string { return cmp.Or(p.ModFile, "go.mod") }

// key identifies the binary by everything that decides what is in it.
func (b build) key(ctx context.Context) (string, error) {
	env, err := b.command(ctx, "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("ask for the Go version: %w", commandError(err))
	}
	files, err := b.files()
	if err != nil {
		return "", fmt.Errorf("list the source of %s: %w", b.Name, err)
	}

	hash := sha256.New()
	fmt.Fprintf(hash, "%s%q", env, b.flags)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the source of %s: %w", b.Name, err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", strings.TrimPrefix(file, b.source), len(content), content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// files returns the files of the nested module that are in the binary or decide what is.
func (b build) files() ([]string, error) {
	mod := filepath.Join(b.source, b.modFile())
	files := []string{mod, strings.TrimSuffix(mod, ".mod") + ".sum"}
	err := filepath.WalkDir(b.source, func(path string, _ fs.DirEntry, err error) error {
		if isSource(path) {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// isSource says whether a file may be in the binary: what it embeds is YAML.
func isSource(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".yaml")
}

// markUsed reports whether the binary is there, and if so remembers that it is used.
func markUsed(binary string) bool {
	now := time.Now()
	return os.Chtimes(binary, now, now) == nil
}

// removeUnused removes the binaries nobody has used for long, except the one in keep. What cannot be
// removed is tried again after the next build: a cache that stays too big must not fail a test.
func (p Program) removeUnused(cache, keep string, now time.Time) {
	folders, err := filepath.Glob(filepath.Join(cache, p.Name+"-*"))
	if err != nil {
		return
	}
	for _, folder := range folders {
		info, err := os.Stat(filepath.Join(folder, p.Name))
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
