// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

// skipped are files and folders that Config Sync does not read, wherever they are. It
// reads all other hidden ones.
var skipped = []string{".git", ".github", ".gitlab", ".gitlab-ci.yml"}

// directory is a directory of a repository as this package names it; "." is the root.
func directory(dir string) (string, *knv.Error) {
	clean := path.Clean(strings.TrimLeft(dir, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", knv.New(knv.Source, "the directory %q is not in the repository: change the dir of the RootSync", dir)
	}
	return clean, nil
}

// wantsKustomize says whether kustomize is to render a directory.
func (f *files) wantsKustomize(dir string) (bool, *knv.Error) {
	switch _, info, err := f.stat(dir); {
	case f.fault != nil:
		return false, f.fault
	case err != nil:
		// Config Sync looks for the directory when it fetches, so its number is that of a source.
		return false, knv.New(knv.Source, "the directory %s is not in the repository at this commit: %s. Change the dir of the RootSync, or its branch or revision", dir, brief(err)).Because(err)
	case !info.IsDir():
		return false, knv.New(knv.Source, "%s is a file and no directory: change the dir of the RootSync", dir)
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if f.isFile(path.Join(dir, name)) {
			return true, nil
		}
	}
	return false, nil
}

// plain reads the files of a directory and of those below it.
func plain(f *files, dir string) ([]parse.File, error) {
	w := walk{files: f}
	if err := w.below(dir, nil); err != nil {
		return nil, err
	}
	return w.found, nil
}

type walk struct {
	files *files
	found []parse.File
}

// below reads what is in a folder. The folders it is in are known by where they really
// are, so that a link to one of them does not lead round for ever.
func (w *walk) below(dir string, above []string) error {
	at, err := w.files.resolve(dir)
	if err != nil {
		return err
	}
	if slices.Contains(above, at) {
		return nil
	}
	above = append(slices.Clip(above), at)
	names, err := w.files.list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(skipped, name) {
			if err := w.entry(path.Join(dir, name), above); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) entry(name string, above []string) error {
	_, info, err := w.files.stat(name)
	manifest := slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
	switch {
	case w.files.fault != nil:
		return w.files.fault
	case err == nil && info.IsDir():
		return w.below(name, above)
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)):
		return knv.New(knv.Rendering, "there is a kustomization file in %s and none in the directory that is synced: "+
			"add one there, so that all is rendered, or remove all below it", path.Dir(name)).About(knv.Resource{Path: name})
	case errors.Is(err, errOutside):
		// It may be meant for a folder of manifests. Without it what was applied of that would be pruned.
		return knv.New(knv.BadPath, "%s cannot be read: %s: make the symbolic link lead to a file of the repository, or remove it", name, brief(err)).
			About(knv.Resource{Path: name}).Because(err)
	case !manifest:
		return nil // whatever it is, nobody reads it
	case err != nil:
		return knv.New(knv.BadPath, "%s cannot be read: %s", name, brief(err)).About(knv.Resource{Path: name}).Because(err)
	case !info.Mode().IsRegular():
		return knv.New(knv.BadPath, "%s is no file", name).About(knv.Resource{Path: name})
	}
	data, err := w.files.read(name)
	if err != nil {
		return err
	}
	w.found = append(w.found, parse.File{Path: name, Data: data})
	return nil
}
