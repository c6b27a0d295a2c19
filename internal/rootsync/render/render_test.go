// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

// repository is a folder with the files of an archive in the form of txtar. A file whose
// text is "-> target" is a symbolic link.
func repository(t testing.TB, text string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		target, isLink := strings.CutPrefix(strings.TrimSpace(string(f.Data)), "-> ")
		var err error
		if isLink {
			err = os.Symlink(target, name)
		} else {
			err = os.WriteFile(name, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func render(t testing.TB, o Options, text, dir string) ([]parse.File, bool, *knv.Error) {
	t.Helper()
	return New(o).Render(t.Context(), Tree{Commit: "c1", Dir: repository(t, text)}, dir)
}

func pathsOf(list []parse.File) []string {
	var out []string
	for _, f := range list {
		out = append(out, f.Path)
	}
	return out
}

func cm(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: b}\n"
}

func TestRender_withoutAKustomization(t *testing.T) {
	t.Parallel()
	const text = `
-- readme.md --
-- a.yaml --
a
-- acme/.hidden/h.yml --
h
-- acme/.github/workflows/w.yaml --
w
-- acme/.gitlab-ci.yml --
w
-- acme/b.json --
b
-- acme/c/d.yaml --
d
-- acme/c/script.sh --
s
-- acme/linked --
-> ../other
-- acme/link.yaml --
-> ../a.yaml
-- acme/dangling --
-> nowhere
-- acme/round --
-> ..
-- other/e.yaml --
e
`
	const beside = `
-- beside/dir/f.yaml --
f
-- beside/dir/README.md --
-> ../NOTES.md
-- beside/NOTES.md --
-> nowhere
-- beside/absolute.yaml --
-> /etc/hostname
-- beside/sub/.git --
submodule 1
-- beside/dir/g/.git --
gitdir: ../.git/modules/g
-- outside --
-> ../..
`
	tests := []struct {
		name, dir string
		want      []string
	}{
		{"the whole repository", "", []string{
			"a.yaml", "acme/.hidden/h.yml", "acme/b.json", "acme/c/d.yaml", "acme/link.yaml", "acme/linked/e.yaml", "other/e.yaml",
		}},
		{"a directory, with what links in it lead to", "acme/", []string{
			"acme/.hidden/h.yml", "acme/b.json", "acme/c/d.yaml", "acme/link.yaml", "acme/linked/e.yaml",
			"acme/round/a.yaml", "acme/round/other/e.yaml",
		}},
		{"a directory with a slash before it", "/acme/c", []string{"acme/c/d.yaml"}},
		{"a directory that is a link", "acme/linked", []string{"acme/linked/e.yaml"}},
		{"a directory beside a submodule, and links that lead out", "beside/dir", []string{"beside/dir/f.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := text
			if strings.HasPrefix(tt.dir, "beside") {
				files = beside
			}
			got, rendered, err := render(t, Options{}, files, tt.dir)
			if err != nil || rendered {
				t.Fatal(err, rendered)
			}
			if diff := cmp.Diff(tt.want, pathsOf(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The sync does not fetch what a submodule has, so it is refused of a checkout as well, which may be a work tree of its own.
func TestRender_submodulesOfACheckout(t *testing.T) {
	t.Parallel()
	dir := repository(t, "-- .git --\ngitdir: /r/.git/worktrees/w\n-- a/x.yaml --\nx\n-- b/.git --\ngitdir: ../.git/modules/b\n-- b/y.yaml --\ny\n")
	r := New(Options{})
	if got, _, err := r.Render(t.Context(), Tree{Commit: "1", Dir: dir, WorkTree: true}, "a"); err != nil || len(got) != 1 {
		t.Errorf("beside it: got %v, %v", got, err)
	}
	if _, _, err := r.Render(t.Context(), Tree{Commit: "1", Dir: dir, WorkTree: true}, ""); err == nil || !strings.Contains(err.Text, "b is a Git submodule") {
		t.Errorf("with it: got %v", err)
	}
	if got, _, err := r.Render(t.Context(), Tree{Commit: "2", Dir: dir}, ""); err != nil || len(got) != 2 {
		t.Errorf("an image with the files of it: got %v, %v", got, err)
	}
}

const overlay = `
-- base/kustomization.yaml --
resources: [cm.yaml]
configMapGenerator:
- name: generated
  files: [key=app.conf]
-- base/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {a: b}
-- base/app.conf --
x=1
-- overlays/prod/kustomization.yaml --
namespace: prod
namePrefix: p-
resources: [../../base, ns.yaml]
components: [../../parts/label]
patches:
- path: patch.yaml
-- overlays/prod/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {c: d}
-- overlays/prod/ns.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: prod}
-- parts/label/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels: [{pairs: {team: x}}]
transformers: [prefix.yaml]
-- parts/label/prefix.yaml --
apiVersion: builtin
kind: PrefixTransformer
metadata: {name: x}
prefix: c-
fieldSpecs: [{kind: ConfigMap, path: metadata/name}]
`

func TestRender_aKustomization(t *testing.T) {
	t.Parallel()
	got, rendered, err := render(t, Options{}, overlay, "overlays/prod")
	if err != nil || !rendered {
		t.Fatal(err, rendered)
	}
	want := []parse.File{
		{Path: "overlays/prod/v1_configmap_p-c-a.yaml", Data: []byte("apiVersion: v1\ndata:\n  a: b\n  c: d\nkind: ConfigMap\nmetadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      path: ../../base/cm.yaml\n  labels:\n    team: x\n  name: p-c-a\n  namespace: prod\n")},
		{Path: "overlays/prod/v1_configmap_p-c-generated-824h8c8b26.yaml", Data: []byte("apiVersion: v1\ndata:\n  key: |\n    x=1\nkind: ConfigMap\nmetadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      configuredIn: ../../base/kustomization.yaml\n      configuredBy:\n        apiVersion: builtin\n        kind: ConfigMapGenerator\n  labels:\n    team: x\n  name: p-c-generated-824h8c8b26\n  namespace: prod\n")},
		{Path: "overlays/prod/v1_namespace_prod.yaml", Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      path: ns.yaml\n  labels:\n    team: x\n  name: prod\n")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The names are those that "kustomize build --output" gives to files.
func TestRender_namesOfFiles(t *testing.T) {
	t.Parallel()
	got, _, err := render(t, Options{}, `
-- Kustomization --
resources: [all.yaml]
-- all.yaml --
`+cm("a")+"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: A.b, namespace: x}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:c\"}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"default_v1_configmap_a.yaml", "rbac.authorization.k8s.io_v1_clusterrole_system:c.yaml", "x_apps_v1_deployment_a.b.yaml"}
	if diff := cmp.Diff(want, pathsOf(got)); diff != "" {
		t.Error(diff)
	}
}

func TestRender_whatIsRefused(t *testing.T) {
	t.Parallel()
	kustomization := func(text string, files ...string) string {
		return "-- a/kustomization.yaml --\n" + text + "\n-- a/cm.yaml --\n" + cm("a") + "-- secret.yaml --\n" + cm("secret") + strings.Join(files, "")
	}
	plugin := func(text string) string {
		return kustomization("resources: [cm.yaml]\ntransformers: [t.yaml]", "-- a/t.yaml --\n"+text)
	}
	tests := []struct {
		name, files string
		code        knv.Code
		says        string
	}{
		{"a directory that is not there", "-- b/x --\n", knv.Source, "the directory a is not in the repository at this commit"},
		{"a directory that is a file", "-- a --\n", knv.Source, "a is a file"},
		{"a directory that is elsewhere", "-- a --\n-> /etc\n", knv.Source, "leads out of the repository"},
		{"a directory that is a link to itself", "-- a --\n-> a\n", knv.Source, "too many symbolic links"},
		{"a file that is elsewhere", "-- a/x.yaml --\n-> /etc/hostname\n", knv.BadPath, "a/x.yaml: it leads out of the repository"},
		{"a file that is elsewhere, by a path from here", "-- a/x.yaml --\n-> ../../../../../../../../etc/hostname\n", knv.BadPath, "leads out"},
		{"a folder that is elsewhere", "-- a/x --\n-> /etc\n", knv.BadPath, "a/x: it leads out of the repository: make the symbolic link lead to a file of the repository"},
		{"a folder that is elsewhere, by another link", "-- a/x --\n-> ../b/y\n-- b/y --\n-> /etc\n", knv.BadPath, "a/x: it leads out of the repository"},
		{"a link to a file that is not there", "-- a/x.yaml --\n-> y.yaml\n", knv.BadPath, "a/x.yaml cannot be read"},
		{"a folder with a name of a file is one", "-- a/x.yaml/kustomization.yaml --\nresources: []\n", knv.Rendering, "remove all below it"},
		{"a kustomization below only", "-- a/x.yaml --\n-- a/b/kustomization.yml --\nresources: []\n", knv.Rendering, "there is a kustomization file in a/b"},

		{"a directory that is a submodule", "-- a/.git --\nsubmodule 1\n", knv.Source, "a is a Git submodule"},
		{"a submodule in the directory", "-- a/x.yaml --\n-- a/b/.git --\nsubmodule 1\n", knv.Source, "a/b is a Git submodule, and submodules are not fetched: commit its files"},
		{"a link to a submodule", "-- a/x --\n-> ../b\n-- b/.git --\nsubmodule 1\n", knv.Source, "b is a Git submodule"},
		{"a link to a folder of a submodule", "-- a/x --\n-> ../b/c/d\n-- b/.git --\nsubmodule 1\n", knv.Source, "b is a Git submodule"},
		{"a base in a submodule", kustomization("resources: [../b/c]", "-- b/.git --\nsubmodule 1\n"), knv.Source, "b is a Git submodule"},
		{"a file of a submodule", kustomization("resources: [b/c.yaml]", "-- a/b/.git --\nsubmodule 1\n"), knv.Source, "a/b is a Git submodule"},

		{"an unknown field", kustomization("resource: [x]"), knv.Rendering, `unknown field "resource"`},
		{"a file that is not there", kustomization("resources: [x.yaml]"), knv.Rendering, "x.yaml"},
		{"two kustomizations", kustomization("resources: [cm.yaml]", "-- a/kustomization.yml --\nresources: [cm.yaml]\n"), knv.Rendering, "multiple kustomization files"},
		{"a round of bases", kustomization("resources: [../b]", "-- b/kustomization.yaml --\nresources: [../a]\n"), knv.Rendering, "cycle"},
		{"a file outside its folder", kustomization("resources: [../secret.yaml]"), knv.Rendering, "is not in or below"},
		{"a generator that reads outside its folder", kustomization("configMapGenerator: [{name: g, files: [../secret.yaml]}]"), knv.Rendering, "is not in or below"},

		{"a base outside the repository", kustomization("resources: [../../outside]"), knv.Rendering, "leads out of the repository"},
		{"a file outside the repository", kustomization("resources: [../../../../../../../../etc/hostname]"), knv.Rendering, "leads out of the repository"},
		{"an absolute path", kustomization("resources: [/etc/hostname]"), knv.Rendering, "begins with a slash"},
		{"a generator of the machine's files", kustomization("configMapGenerator: [{name: g, files: [/etc/hostname]}]"), knv.Rendering, "begins with a slash"},
		{"a generator of the machine's files, with a key", kustomization("secretGenerator: [{name: g, files: [a=../../../../../../etc/hostname]}]"), knv.Rendering, "leads out of the repository"},
		{"variables of the machine", kustomization("configMapGenerator: [{name: g, envs: [/proc/self/environ]}]"), knv.Rendering, "begins with a slash"},
		{"a link out of the repository", kustomization("resources: [l.yaml]", "-- a/l.yaml --\n-> /etc/hostname\n"), knv.Rendering, "leads out of the repository"},
		{"a base that is a link out of the repository", kustomization("resources: [l]", "-- a/l --\n-> ../../\n"), knv.Rendering, "leads out of the repository"},
		{"a kustomization that is a link out of the repository", "-- a/kustomization.yaml --\n-> /etc/hostname\n", knv.Rendering, "remove all below it"},

		{"a file on the web", kustomization("resources: [https://127.0.0.1:1/a.yaml]"), knv.Rendering, "commit a copy of it"},
		{"a file on the web, with one slash", kustomization("resources: ['http:/127.0.0.1:1/a.yaml']"), knv.Rendering, "commit a copy of it"},
		{"a repository on GitHub", kustomization("resources: ['github.com/a/b//c?ref=v1']"), knv.Rendering, "commit a copy of it"},
		{"a repository on GitHub, with letters of another alphabet", kustomization("resources: [gİthub.com/a/b]"), knv.Rendering, "commit a copy of it"},
		{"a repository by ssh", kustomization("resources: ['git@127.0.0.1:a/b']"), knv.Rendering, "commit a copy of it"},
		{"a repository by git", kustomization("resources: ['GIT::https://127.0.0.1:1/a']"), knv.Rendering, "commit a copy of it"},
		{"a repository on this machine", kustomization("resources: ['file:///etc/x']"), knv.Rendering, "commit a copy of it"},
		{"a component elsewhere", kustomization("components: [https://127.0.0.1:1/a]"), knv.Rendering, "commit a copy of it"},
		{"a base of a base elsewhere", kustomization("resources: [../b]", "-- b/kustomization.yaml --\nbases: [ssh://git@127.0.0.1:1/a]\n"), knv.Rendering, "b/kustomization.yaml cannot be used"},
		{"a base elsewhere in a link", kustomization("resources: [l]", "-- a/l --\n-> ../b\n-- b/kustomization.yaml --\n-> k\n-- b/k --\nresources: [https://127.0.0.1:1/a]\n"), knv.Rendering, "commit a copy of it"},
		{"a base elsewhere, whose path goes round by the name of the root", kustomization("resources: [../../repository/b]", "-- b/kustomization.yaml --\nresources: [https://127.0.0.1:1/a]\n"), knv.Rendering, "commit a copy of it"},
		{"a patch elsewhere", kustomization("resources: [cm.yaml]\npatches: [{path: https://127.0.0.1:1/a}]"), knv.Rendering, "commit a copy of it"},
		{"an old patch elsewhere", kustomization("resources: [cm.yaml]\npatchesStrategicMerge: [https://127.0.0.1:1/a]"), knv.Rendering, "commit a copy of it"},
		{"a CRD elsewhere", kustomization("resources: [cm.yaml]\ncrds: [https://127.0.0.1:1/a]"), knv.Rendering, "commit a copy of it"},
		{"a schema elsewhere", kustomization("resources: [cm.yaml]\nopenapi: {path: https://127.0.0.1:1/a}"), knv.Rendering, "commit a copy of it"},
		{"a replacement elsewhere", kustomization("resources: [cm.yaml]\nreplacements: [{path: https://127.0.0.1:1/a}]"), knv.Rendering, "commit a copy of it"},
		{"a configuration elsewhere", kustomization("resources: [cm.yaml]\nconfigurations: [https://127.0.0.1:1/a]"), knv.Rendering, "commit a copy of it"},
		{"a generator of a file on the web", kustomization("configMapGenerator: [{name: g, files: [a=https://127.0.0.1:1/a]}]"), knv.Rendering, "commit a copy of it"},
		{"a generator of variables on the web", kustomization("secretGenerator: [{name: g, env: https://127.0.0.1:1/a}]"), knv.Rendering, "commit a copy of it"},
		{"a transformer elsewhere", kustomization("resources: [cm.yaml]\ntransformers: [https://127.0.0.1:1/a]"), knv.Rendering, "commit a copy of it"},
		{"a built-in plugin with a file on the web", plugin("apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\nPATH: https://127.0.0.1:1/a\n"), knv.Rendering, "commit a copy of it"},
		{"a built-in plugin with a key that only kustomize takes for one", plugin("apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: x}\n\"fileſ\": [https://127.0.0.1:1/a]\n"), knv.Rendering, "commit a copy of it"},
		{"a built-in plugin in place, with a file on the web", kustomization("resources: [cm.yaml]\ntransformers:\n- |\n  apiVersion: builtin\n  kind: ReplacementTransformer\n  metadata: {name: x}\n  replacements: [{path: https://127.0.0.1:1/a}]"), knv.Rendering, "commit a copy of it"},
		{"a plugin of an absolute path", kustomization("resources: [cm.yaml]\ntransformers: [/a/t.yaml]"), knv.Rendering, "begins with a slash"},
		{"plugins that a kustomization makes", kustomization("resources: [cm.yaml]\ntransformers: [../b]", "-- b/kustomization.yaml --\nresources: [t.yaml]\n"), knv.Rendering, "name the files in it"},

		{"a program", plugin("apiVersion: someteam.example.com/v1\nkind: SedTransformer\nmetadata: {name: x}\n"), knv.Rendering, "plugins are not run"},
		{"a program by a function", plugin("apiVersion: v1\nkind: X\nmetadata: {name: x, annotations: {config.kubernetes.io/function: \"exec: {path: /bin/sh}\"}}\n"), knv.Rendering, "plugins are not run"},
		{"a container", kustomization("resources: [cm.yaml]\ngenerators:\n- |\n  apiVersion: v1\n  kind: X\n  metadata:\n    name: x\n    annotations: {config.kubernetes.io/function: \"container: {image: x}\"}"), knv.Rendering, "plugins are not run"},
		{"a Helm chart", kustomization("helmCharts: [{name: x, repo: https://127.0.0.1:1}]"), knv.Rendering, "helm template"},
		{"a Helm chart of old", kustomization("helmChartInflationGenerator: [{chartName: x}]"), knv.Rendering, "helm template"},
		{"a Helm chart by a generator", kustomization("generators: [t.yaml]", "-- a/t.yaml --\napiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\nname: x\n"), knv.Rendering, "helm template"},

		{"a bomb", kustomization("resources: [b.yaml]", "-- a/b.yaml --\n"+bomb("", 12)), knv.Rendering, "aliases of YAML expanded"},
		{"a bomb in a kustomization", "-- a/kustomization.yaml --\n" + bomb("", 12), knv.Rendering, "aliases of YAML expanded"},
		{"a bomb in a patch in place", kustomization("resources: [cm.yaml]\npatches:\n- patch: |\n" + bomb("    ", 12)), knv.Rendering, "aliases of YAML expanded"},
		{"a bomb in a patch of a plugin", plugin("apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npatch: |\n" + bomb("    ", 12)), knv.Rendering, "aliases of YAML expanded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := render(t, Options{}, tt.files, "a")
			if err == nil {
				t.Fatalf("it is rendered: %s", got)
			}
			if err.Code != tt.code || !strings.Contains(err.Text, tt.says) {
				t.Errorf("%s does not say KNV%s … %s", err, tt.code, tt.says)
			}
			if strings.Contains(err.Text, top) || strings.Contains(err.Text, filepath.Dir(filepath.Dir(t.TempDir()))) {
				t.Errorf("%s names what the source does not know", err)
			}
		})
	}
}

// bomb is an object of some levels, each an alias to the one before, ten times.
func bomb(indent string, levels int) string {
	var b strings.Builder
	b.WriteString(indent + "apiVersion: v1\n" + indent + "kind: ConfigMap\n" + indent + "metadata: {name: a}\n" + indent + "a0: &a0 [x]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "%sa%d: &a%d [%s]\n", indent, i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}
