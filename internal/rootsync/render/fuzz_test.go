// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// offline is the network of these tests. Kustomize has no other transport.
type offline struct{}

func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	panic("kustomize has asked for " + r.URL.String())
}

func TestMain(m *testing.M) {
	if code, asked := Main(); asked {
		os.Exit(code)
	}
	http.DefaultTransport = offline{}
	os.Exit(m.Run())
}

// Whatever a kustomization says, it ends with files or with an error, the same each time,
// and nothing of what is beside the repository is in them.
func FuzzRender(f *testing.F) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
	f.Add("resources: [x.yaml, ../base]\nnamePrefix: p-\n", object)
	f.Add("resources: [../../canary.yaml, https://127.0.0.1:1/x]\n", object)
	f.Add("resources: [../../repository/base]\ntransformers: [x.yaml]\n", "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: https://127.0.0.1:1/x\n")
	f.Add("configMapGenerator: [{name: g, behavior: merge, files: [a=link, ../../canary.yaml], envs: [x.yaml], literals: [a=b]}]\nresources: [x.yaml]\n", object)
	f.Add("resources: [x.yaml]\nreplacements: [{source: {kind: ConfigMap, fieldPath: data.a}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.b], options: {create: true}}]}]\n", object)
	f.Add("resources: [x.yaml]\npatches: [{path: link}, {patch: '[{op: copy, from: /data, path: /data/x}]', target: {kind: ConfigMap}}]\nlabels: [{pairs: {a: b}}]\n", object)
	f.Add("resources: [x.yaml]\nopenapi: {path: x.yaml}\ncrds: [x.yaml]\nvars: [{name: A, objref: {kind: ConfigMap, name: a, apiVersion: v1}}]\n", object)
	f.Add("generators: [x.yaml]\n", "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\nname: c\n")
	f.Fuzz(func(t *testing.T, kustomization, other string) {
		root := t.TempDir()
		for name, text := range map[string]string{
			"canary.yaml":               strings.Replace(object, "{a: b}", "{a: canary}", 1),
			"repo/a/kustomization.yaml": kustomization, "repo/a/x.yaml": other,
			"repo/base/kustomization.yaml": "resources: [x.yaml]\n", "repo/base/x.yaml": object,
		} {
			name = filepath.Join(root, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../../canary.yaml", filepath.Join(root, "repo", "a", "link")); err != nil {
			t.Fatal(err)
		}
		o := Options{Time: 5 * time.Second, Files: 200, Input: 1 << 20, Output: 1 << 20}
		tree := Tree{Commit: "c", Dir: filepath.Join(root, "repo")}
		got, _, err := New(o).Render(t.Context(), tree, "a")
		again, _, err2 := New(o).Render(t.Context(), tree, "a")
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatal("the second time it is another:", diff)
		}
		if (err == nil) != (err2 == nil) {
			t.Fatal("the second time it ends otherwise:", err, err2)
		}
		for _, file := range got {
			if bytes.Contains(file.Data, []byte("canary")) && !strings.Contains(kustomization+other, "canary") {
				t.Fatal("a file beside the repository has been read")
			}
		}
		if err != nil && err.Code != knv.Rendering && err.Code != knv.InternalRendering {
			t.Fatal(err)
		}
		if err != nil && (strings.Contains(err.Text, root) || errors.Is(err, errPanic) && strings.Contains(err.Text, "has asked for")) {
			t.Fatal(err)
		}
	})
}
