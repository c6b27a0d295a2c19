// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/builtin"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

func TestReport(t *testing.T) {
	t.Parallel()
	const (
		cm       = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}"
		other    = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop, annotations: {config.kubernetes.io/depends-on: /namespaces/shop/ConfigMap/c}}}"
		ns       = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
		gateway  = "{apiVersion: example.com/v1, kind: Gateway, metadata: {name: g, namespace: shop}}"
		crd      = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gateways.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: gateways, kind: Gateway}}}"
		rs       = "{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: shop, namespace: config-management-system}, spec: {sourceFormat: unstructured, git: {repo: 'https://h/r', auth: none}}}"
		wrong    = "{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: shop, namespace: config-management-system}, spec: {sourceFormat: unstructured}}"
		odd      = "{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: shop, namespace: config-management-system}, spec: {git: []}}"
		versions = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gateways.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: gateways, kind: Gateway}, versions: [{name: v1, served: false}, {name: v2, served: true}]}}"
		repo     = "{apiVersion: configsync.gke.io/v1beta1, kind: RepoSync, metadata: {name: shop, namespace: shop}}"
		ingress  = "{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: i, namespace: shop}}"
		labels   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {a b: x}, annotations: {/x: z}}}"
	)
	tests := []struct {
		name   string
		files  string // one a line: path, and what is in it
		sync   string
		server string // the kinds that a cluster serves, if one is asked
		want   string
	}{
		{name: "nothing", want: "0 objects in 0 files: nothing is wrong"},
		{name: "all is well", files: "a " + ns + "\nb " + cm, want: "2 objects in 2 files: nothing is wrong"},
		{name: "a namespace that is not declared", files: "b " + cm, want: "note: " + "used and not declared, so that they have to be there with namespace strategy explicit: shop\n1 object in 1 file: nothing is wrong"},
		{
			name: "one object in two files", files: "x/a " + cm + "\nb " + cm,
			want: "b: KNV1029: ConfigMap, shop/a is declared 2 times, and one of them can be applied only: rename or remove the others [also in x/a]\n2 files: 1 error",
		},
		{
			name: "a file that cannot be read", files: "a {x",
			want: "a: KNV1006: a cannot be read",
		},
		{
			name: "it depends on what is not there", files: "a " + ns + "\nb " + other,
			want: "b: KNV2009: external dependency: /namespaces/shop/ConfigMap/b -> /namespaces/shop/ConfigMap/c: only an object of the same source can be waited for [ConfigMap shop/b]\n2 objects in 2 files: 1 error",
		},
		{
			name: "a kind that is not known, with no cluster", files: "a " + ns + "\nb " + gateway,
			want: "warning: b: 1 object of kind Gateway.example.com, which is not built in: whether a cluster has it, and a namespace for them, tells --server, or its CustomResourceDefinition in the folder\n2 objects in 2 files: nothing is wrong, 1 unknown kind",
		},
		{name: "its definition is in the folder", files: "a " + ns + "\nb " + gateway + "\nc " + crd, want: "3 objects in 3 files: nothing is wrong"},
		{
			name: "a kind that the cluster does not serve", files: "a " + ns + "\nb " + gateway, server: "Namespace",
			want: `b: KNV1021: The cluster serves no kind "Gateway.example.com"`,
		},
		{name: "a version that its definition in the folder does not serve", files: "b " + gateway + "\nc " + versions, want: "b: KNV1021: No CustomResourceDefinition serves Gateway.example.com in version v1: use v2"},
		{name: "a version that no Kubernetes serves any more", files: "a " + ns + "\nb " + ingress, want: "b: KNV1021: Kubernetes serves no extensions/v1beta1, Kind=Ingress since version 1.22: use networking.k8s.io/v1"},
		{name: "a RepoSync", files: "a " + ns + "\nb " + repo, want: "b: KNV1021: Holdfast reconciles no RepoSync"},
		{
			name: "labels and annotations that no API server takes", files: "a " + ns + "\nb " + labels,
			want: `b: KNV2009: The API server would refuse it: metadata.annotations: Invalid value: "/x"`,
		},
		{name: "a RootSync that is right", files: "a " + rs, sync: "other", want: "1 object in 1 file: nothing is wrong"},
		{
			name: "a RootSync that declares itself", files: "a " + rs, sync: "shop",
			want: "a: KNV1069: RootSync config-management-system/shop must not manage itself in its repo: declare it in the source of another RootSync\n1 object in 1 file: 1 error",
		},
		{name: "a RootSync that is wrong", files: "a " + wrong, want: "a: KNV1061: RootSyncs must specify spec.git"},
		{name: "a RootSync that is none", files: "a " + odd, want: "a: KNV1061: read RootSync shop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var files []parse.File
			for line := range strings.Lines(tt.files) {
				path, data, _ := strings.Cut(strings.TrimSpace(line), " ")
				files = append(files, parse.File{Path: path, Data: []byte(data)})
			}
			var scopes parse.Scopes = builtin.Scopes{}
			if tt.server != "" {
				scopes = servedBy([]*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Kind: tt.server}}}})
			}
			r := &report{Files: len(files)}
			r.look(parse.Parse(files, scopes), object.Sync(tt.sync), tt.server != "")
			var lines []string
			for _, f := range r.Findings {
				lines = append(lines, f.String())
			}
			for _, k := range r.UnknownKinds {
				lines = append(lines, "warning: "+k.String())
			}
			if note := r.namespacesNote(); note != "" {
				lines = append(lines, "note: "+note)
			}
			got := strings.Join(append(lines, r.summary()), "\n")
			if strings.Contains(tt.want, ": KNV") && !strings.Contains(tt.want, "\n") {
				got = got[:min(len(got), len(tt.want))] // the rest of the text is of another package
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one\ntwo":  "one",
		" one \n\n": "one",
		"trouble configuring builtin PatchTransformer with config: `\npatch: |\n  x\n`: must specify a target": "trouble configuring builtin PatchTransformer with config: ` patch: | x `: must specify a target",
		"`a` and `b`\nmore":       "`a` and `b`",
		strings.Repeat("x", 1000): strings.Repeat("x", longest) + " …",
	} {
		if diff := cmp.Diff(want, firstLine(text)); diff != "" {
			t.Errorf("%.20q (-want +got)\n%s", text, diff)
		}
	}
}
