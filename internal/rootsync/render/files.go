// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// top is what kustomize takes the root of the repository for. It has a parent, so that
// a path that leads out of the repository differs from one that leads to its root.
const top = "/repository"

// maxLinks is how many symbolic links may lead to one file.
const maxLinks = 40

var (
	errOutside = errors.New("it leads out of the repository")
	errLinks   = errors.New("too many symbolic links")
)

// files are those of a repository, to be read up to a limit and a deadline. It is not safe
// for concurrent use.
type files struct {
	ctx     context.Context
	root    *os.Root
	options Options
	// workTree is Tree.WorkTree.
	workTree bool

	count, size int
	// fault is the first thing for which the result does not count, whatever became of it.
	fault *knv.Error
}

func open(dir string, o Options) (*files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &files{ctx: context.Background(), root: root, options: o}, nil
}

func (f *files) close() { _ = f.root.Close() }

func (f *files) fail(err *knv.Error) error {
	if f.fault == nil {
		f.fault = err
	}
	return f.fault
}

// spend counts, and says whether that is too much or too late.
func (f *files) spend(count, size int) error {
	f.count += count
	f.size += size
	switch {
	case f.fault != nil:
		return f.fault
	case f.ctx.Err() != nil:
		return f.fail(knv.New(knv.InternalRendering, "out of time").Because(f.ctx.Err()))
	case f.count > f.options.Files:
		return f.fail(knv.New(knv.Rendering, "more than %d files have been read, where each counts as often as a kustomization uses it. Split the directory over several RootSyncs, or use fewer bases", f.options.Files))
	case f.size > f.options.Input:
		return f.fail(knv.New(knv.Rendering, "more than %d bytes have been read, with all aliases of YAML expanded. Split the directory over several RootSyncs", f.options.Input))
	}
	return nil
}

// inside is a path of kustomize's as one that is relative to the repository.
func inside(name string) (string, error) {
	if !path.IsAbs(name) {
		name = path.Join(top, name)
	}
	name = path.Clean(name)
	if name == top {
		return ".", nil
	}
	rel, found := strings.CutPrefix(name, top+"/")
	if !found {
		return "", fmt.Errorf("%s: %w", name, errOutside)
	}
	return rel, nil
}

// resolve is the path of what is at a path, relative to the repository and without
// symbolic links.
func (f *files) resolve(name string) (string, error) {
	if err := f.spend(0, 0); err != nil {
		return "", err
	}
	at, links := ".", 0
	for todo := strings.Split(name, "/"); len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		switch {
		case next == "" || next == ".":
			continue
		case next == ".." && at == ".":
			return "", fmt.Errorf("%s: %w", name, errOutside)
		case next == "..":
			at = path.Dir(at)
			continue
		}
		at = path.Join(at, next)
		target, err := f.link(at)
		switch {
		case err != nil:
			return "", f.missing(name, at, err)
		case target == "":
			continue
		case path.IsAbs(target):
			return "", fmt.Errorf("%s: %w", name, errOutside)
		}
		links++
		if links > maxLinks {
			return "", fmt.Errorf("%s: %w", name, errLinks)
		}
		at, todo = path.Dir(at), slices.Concat(strings.Split(target, "/"), todo)
	}
	return at, nil
}

// link is what a symbolic link says; empty for what is none.
func (f *files) link(name string) (string, error) {
	info, err := f.root.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	return f.root.Readlink(name)
}

// missing tells a file that is not there from one of a submodule, and from a disk that cannot be read. At is its path without
// symbolic links.
func (f *files) missing(name, at string, err error) error {
	for _, no := range []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, no) {
			for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
				if f.isSubmodule(dir) {
					return f.submodule(dir)
				}
			}
			return fmt.Errorf("%.200s: %w", name, fs.ErrNotExist)
		}
	}
	return f.fail(knv.New(knv.InternalRendering, "%s cannot be read: %v", name, err).Because(err))
}

// isSubmodule reports whether a folder, given without symbolic links, is that of a Git submodule.
func (f *files) isSubmodule(dir string) bool {
	data, err := f.root.ReadFile(path.Join(dir, remote.SubmoduleFile))
	return err == nil && (remote.IsSubmodule(data) || f.workTree && dir != "." && strings.HasPrefix(string(data), "gitdir:"))
}

// submodule fails, since what is in a submodule is not known: without it, what was applied of that would be pruned.
func (f *files) submodule(dir string) error {
	return f.fail(knv.New(knv.Source, "%s is a Git submodule, and submodules are not fetched: commit its files to this repository, "+
		"sync its repository with a RootSync of its own, or move it out of the directory that is synced", dir).About(knv.Resource{Path: dir}))
}

func (f *files) stat(name string) (at string, info fs.FileInfo, err error) {
	if at, err = f.resolve(name); err != nil {
		return "", nil, err
	}
	if info, err = f.root.Stat(at); err != nil {
		return "", nil, f.missing(name, at, err)
	}
	return at, info, nil
}

func (f *files) isDir(name string) bool {
	_, info, err := f.stat(name)
	return err == nil && info.IsDir()
}

func (f *files) isFile(name string) bool {
	_, info, err := f.stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (f *files) read(name string) ([]byte, error) {
	at, info, err := f.stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	}
	if err := f.spend(1, int(info.Size())); err != nil {
		return nil, err
	}
	data, err := f.root.ReadFile(at)
	if err != nil {
		return nil, f.missing(name, at, err)
	}
	return data, f.spend(0, max(0, parse.Expanded(data)-int(info.Size())))
}

// list is the names in a folder, sorted.
func (f *files) list(dir string) ([]string, error) {
	at, err := f.resolve(dir)
	if err != nil {
		return nil, err
	}
	d, err := f.root.Open(at)
	if err != nil {
		return nil, f.missing(dir, at, err)
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, f.missing(dir, at, err)
	}
	if slices.Contains(names, remote.SubmoduleFile) && f.isSubmodule(at) {
		return nil, f.submodule(at)
	}
	slices.Sort(names)
	return names, f.spend(1, 0)
}

// judge says what an error is that rendering has ended with.
func (f *files) judge(err error, dir string) *knv.Error {
	var known *knv.Error
	switch {
	case f.fault != nil && f.ctx.Err() != nil:
		return tooLong(dir, f.options.Time)
	case f.fault != nil:
		return f.fault
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	}
	return knv.New(knv.Rendering, "%s cannot be rendered: %s", where(dir), brief(err)).Because(err)
}

// brief is the text of an error without what only this process knows. Kustomize puts
// whole files into some.
func brief(err error) string {
	const most = 2000
	text := strings.ReplaceAll(strings.ReplaceAll(err.Error(), top+"/", ""), top, ".")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}
