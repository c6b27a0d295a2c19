// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

// guard looks through a kustomization and all that it is made of before kustomize does,
// which would fetch what is elsewhere and could not be told not to. It reads with
// kustomize's own functions and from the same file system, so that the two never take a
// file or a path in different ways.
type guard struct {
	files   fileSystem
	visited map[string]bool
	// schema says that somewhere a schema other than the built-in one is used.
	schema bool
}

// kustomization looks at that of a folder, and at those it uses.
func (g *guard) kustomization(dir string) error {
	root, file, err := g.files.CleanedAbs(dir)
	if err != nil || file != "" || g.visited[string(root)] {
		return err
	}
	g.visited[string(root)] = true
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if name = root.Join(name); !g.files.Exists(name) {
			continue
		}
		if err := g.file(root, name); err != nil {
			return err
		}
	}
	return g.files.files.spend(0, 0)
}

func (g *guard) file(root filesys.ConfirmedDir, name string) error {
	data, err := g.files.ReadFile(name)
	if err != nil {
		return err
	}
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		return refuse(name, "it is no kustomization: %s", brief(err))
	}
	k.FixKustomization()
	g.schema = g.schema || len(k.OpenAPI) > 0
	if len(k.HelmCharts) > 0 {
		return refuse(name, helm)
	}
	if err := local(name, paths(&k)); err != nil {
		return err
	}
	if err := g.inline(data); err != nil {
		return err
	}
	for _, plugin := range slices.Concat(k.Generators, k.Transformers, k.Validators) {
		if err := g.plugin(root, name, plugin); err != nil {
			return err
		}
	}
	for _, used := range slices.Concat(k.Resources, k.Components) {
		if next := root.Join(used); g.files.IsDir(next) {
			if err := g.kustomization(next); err != nil {
				return err
			}
		}
	}
	return nil
}

const helm = "it uses a Helm chart, and those are not rendered: render the chart with \"helm template\" and commit the result"

func refuse(file, format string, args ...any) *knv.Error {
	file = strings.TrimPrefix(file, top+"/")
	return knv.New(knv.Rendering, "%s cannot be used: %s", file, fmt.Sprintf(format, args...)).About(knv.Resource{Path: file})
}

// elsewhere is all that kustomize takes for the address of a file or repository that is
// not here, and a little more.
var elsewhere = regexp.MustCompile(`^((git|ssh|https?|file):|github\.com[/:]|[a-z][a-z0-9-]*@)`)

func local(file string, paths []string) error {
	for _, p := range paths {
		if path.IsAbs(p) {
			return refuse(file, "%.200q begins with a slash, and paths begin at the folder of the file", p)
		}
		// Kustomize compares in lower case, of all alphabets.
		if elsewhere.MatchString(strings.ToLower(p)) {
			return refuse(file, "%.200q is not in the repository, and nothing is fetched from elsewhere: commit a copy of it. "+
				"If it is a file of the repository with such a name, begin the path with \"./\"", p)
		}
	}
	return nil
}

// paths are all paths in a kustomization.
func paths(k *types.Kustomization) []string {
	list := slices.Concat(k.Resources, k.Components, k.Crds, k.Configurations, k.Generators, k.Transformers, k.Validators, []string{k.OpenAPI["path"]})
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // old, and read all the same
		list = append(list, string(p))
	}
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) { //nolint:staticcheck // old, and read all the same
		list = append(list, p.Path)
	}
	for _, r := range k.Replacements {
		list = append(list, r.Path)
	}
	for _, c := range k.ConfigMapGenerator {
		list = append(list, sources(c.KvPairSources)...)
	}
	for _, s := range k.SecretGenerator {
		list = append(list, sources(s.KvPairSources)...)
	}
	return list
}

func sources(s types.KvPairSources) []string {
	list := slices.Concat(s.EnvSources, []string{s.EnvSource})
	for _, f := range s.FileSources {
		list = append(list, strings.Split(f, "=")...) // key=path
	}
	return list
}

// inline counts what the texts in a document are once their aliases are expanded: patches
// and plugins may be YAML in YAML.
func (g *guard) inline(data []byte) error {
	var document any
	if err := yaml.Unmarshal(data, &document); err != nil {
		return err
	}
	return g.leaves(document)
}

func (g *guard) leaves(value any) error {
	switch v := value.(type) {
	case string:
		return g.files.files.spend(0, parse.Expanded([]byte(v)))
	case []any:
		for _, item := range v {
			if err := g.leaves(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := g.leaves(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// plugin looks at a generator, transformer or validator, which is written in place or in
// a file of its own. One that another kustomization makes could not be known before.
func (g *guard) plugin(root filesys.ConfirmedDir, file, p string) error {
	factory := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory())
	found, err := factory.NewResMapFromBytes([]byte(p))
	if err != nil {
		next := root.Join(p)
		if g.files.IsDir(next) {
			return refuse(file, "%q is a directory, and a generator, transformer or validator must be in a file: name the files in it", p)
		}
		data, err := g.files.ReadFile(next)
		if err != nil {
			return refuse(file, "%s", brief(err))
		}
		if found, err = factory.NewResMapFromBytes(data); err != nil {
			return refuse(next, "%s", brief(err))
		}
		file = next
	}
	for _, r := range found.Resources() {
		if err := g.builtin(file, r); err != nil {
			return err
		}
	}
	return nil
}

func (g *guard) builtin(file string, r *resource.Resource) error {
	switch gvk := r.GetGvk(); {
	case gvk.Group != "" || gvk.Version != konfig.BuiltinPluginApiVersion:
		return refuse(file, "%s is a plugin, and plugins are not run, neither programs nor containers: only those with \"apiVersion: %s\" are. "+
			"Run it before, and commit the result", gvk.Kind, konfig.BuiltinPluginApiVersion)
	case gvk.Kind == "HelmChartInflationGenerator":
		return refuse(file, helm)
	}
	data, err := r.AsYAML()
	if err != nil {
		return refuse(file, "%s", brief(err))
	}
	if err := g.inline(data); err != nil {
		return err
	}
	// All fields with paths that built-in plugins have.
	var fields struct {
		Path, TargetFilePath, Env string
		Paths, Files, Envs        []string
		Replacements              []struct{ Path string }
	}
	if err := yaml.Unmarshal(data, &fields); err != nil {
		return refuse(file, "%s", brief(err))
	}
	list := slices.Concat([]string{fields.Path, fields.TargetFilePath, fields.Env}, fields.Paths, fields.Envs)
	list = append(list, sources(types.KvPairSources{FileSources: fields.Files})...)
	for _, r := range fields.Replacements {
		list = append(list, r.Path)
	}
	return local(file, list)
}
