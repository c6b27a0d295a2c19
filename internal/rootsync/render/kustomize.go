// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

var errPanic = errors.New("kustomize has given up")

// kustomizer is what runs kustomize on a directory. No two may run at a time.
func kustomizer(o Options) func(context.Context, *files, string) ([]parse.File, error) {
	restrictions := types.LoadRestrictionsRootOnly
	if o.AnyFile {
		restrictions = types.LoadRestrictionsNone
	}
	options := krusty.MakeDefaultOptions() // no plugins, no Helm
	options.LoadRestrictions = restrictions
	return func(_ context.Context, f *files, dir string) ([]parse.File, error) {
		return caught(dir, func() ([]parse.File, error) {
			g := guard{files: fileSystem{f}, visited: map[string]bool{}}
			if err := g.kustomization(path.Join(top, dir)); err != nil {
				return nil, err
			}
			ended := false
			defer func() {
				// A schema is kept for the process: the next build would be done with this one's.
				if g.schema || !ended {
					openapi.ResetOpenAPI()
				}
			}()
			root, _, err := g.files.CleanedAbs(path.Join(top, dir))
			if err != nil {
				return nil, err
			}
			m, err := krusty.MakeKustomizer(options).Run(origins{g.files, string(root)}, path.Join(top, dir))
			ended = true
			if err != nil {
				return nil, err
			}
			return output(f, m, dir)
		})
	}
}

// caught makes an error of a panic.
func caught(dir string, build func() ([]parse.File, error)) (list []parse.File, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = panicked(dir, cause)
		}
	}()
	return build()
}

func panicked(dir string, cause any) *knv.Error {
	text := brief(fmt.Errorf("%v", cause))
	return knv.New(knv.InternalRendering, "rendering of %s has ended in kustomize with: %s. Find out with \"kustomize build\" what it does not bear, and change that", where(dir), text).Because(errPanic)
}

// output are the files that "kustomize build --output" would write, with their names: those are
// in the annotation "configmanagement.gke.io/source-path" of what Config Sync applies.
func output(f *files, m resmap.ResMap, dir string) ([]parse.File, error) {
	namespaces := len(m.GroupedByCurrentNamespace())
	var list []parse.File
	size := 0
	for _, r := range m.Resources() {
		data, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		if size += len(data); size > f.options.Output {
			return nil, knv.New(knv.Rendering, "the kustomization of %s makes more than %d bytes: split it over several RootSyncs", where(dir), f.options.Output)
		}
		if err := f.spend(0, 0); err != nil {
			return nil, err
		}
		list = append(list, parse.File{Path: path.Join(dir, name(r, namespaces > 1)), Data: data})
	}
	slices.SortStableFunc(list, func(a, b parse.File) int { return cmp.Or(cmp.Compare(a.Path, b.Path), bytes.Compare(a.Data, b.Data)) })
	return list, nil
}

func name(r *resource.Resource, namespaced bool) string {
	out := strings.ToLower(r.GetGvk().StringWoEmptyField()) + "_" + strings.ToLower(r.GetName()) + ".yaml"
	if id := r.CurId(); namespaced && !id.IsClusterScoped() {
		out = strings.ToLower(id.EffectiveNamespace()) + "_" + out
	}
	// A name of RBAC may have a slash in nothing but an error of whoever wrote it.
	return strings.ReplaceAll(out, "/", "_")
}
