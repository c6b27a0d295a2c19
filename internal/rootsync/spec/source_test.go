// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_refusesBySpec(t *testing.T) {
	t.Parallel()
	const git = "RootSyncs which specify spec.git."
	tests := []struct{ name, spec, want string }{
		{"an unknown type", "{sourceType: svn}", `RootSyncs must specify spec.sourceType to be one of "git", "oci", "helm"`},

		{"no repository", "{}", `RootSyncs must specify spec.git when spec.sourceType is "git"`},
		{"no address of the repository", "{git: {auth: none}}", `RootSyncs must specify spec.git.repo when spec.sourceType is "git"`},
		{
			"an unknown way of access", "{git: {repo: 'https://h/r', auth: Token}}",
			"RootSyncs must specify spec.git.auth to be one of ssh,cookiefile,gcenode,token,none,gcpserviceaccount,githubapp",
		},
		{
			"a proxy with ssh", "{git: {repo: 'ssh://h/r', auth: ssh, secretRef: {name: s}, proxy: p}}",
			git + `proxy must also specify spec.git.auth as one of "none", "cookiefile", "token" or "githubapp"`,
		},
		{
			"a Secret where none is needed", "{git: {repo: 'https://h/r', auth: none, secretRef: {name: s}}}",
			git + `auth as one of "none", "gcenode", or "gcpserviceaccount" must not specify spec.git.secretRef`,
		},
		{
			"no Secret where one is needed", "{git: {repo: 'https://h/r', auth: token, secretRef: {name: ''}}}",
			git + `auth as one of "ssh", "cookiefile", "githubapp", or "token" must also specify spec.git.secretRef`,
		},
		{
			"no account", "{git: {repo: 'https://h/r', auth: gcpserviceaccount}}",
			git + `auth as "gcpserviceaccount" must also specify spec.git.gcpServiceAccountEmail`,
		},
		{
			"a wrong account", "{git: {repo: 'https://h/r', auth: gcpserviceaccount, gcpServiceAccountEmail: short@p.iam.gserviceaccount.com}}",
			git + `auth as "gcpserviceaccount" must use suffix <gcp_serviceaccount_name>.[.iam.gserviceaccount.com]`,
		},
		{
			"a folder outside", "{git: {repo: 'https://h/r', auth: none, dir: a/../../b}}",
			`spec.git.dir is "a/../../b", which leads out of the source: set it to a folder in it`,
		},
		{"no period", "{git: {repo: 'https://h/r', auth: none, period: often}}", `spec.git.period is "often", which is no duration: set it to one such as "30s" or "5m"`},
		{"a period below nothing", "{git: {repo: 'https://h/r', auth: none, period: -1s}}", `spec.git.period is "-1s", which is no duration: set it to one such as "30s" or "5m"`},
		{"a short period", "{git: {repo: 'https://h/r', auth: none, period: 1ms}}", `spec.git.period is "1ms", which is too short: set it to "1s" or more`},
		{
			"a branch that is an option", "{git: {repo: 'https://h/r', auth: none, branch: --upload-pack=x}}",
			`spec.git.branch is "--upload-pack=x", which is no name in a repository: set it to that of a branch, a tag or a commit`,
		},
		{
			"a revision in two words", "{git: {repo: 'https://h/r', auth: none, revision: a b}}",
			`spec.git.revision is "a b", which is no name in a repository: set it to that of a branch, a tag or a commit`,
		},

		{"no image", "{sourceType: oci}", `RootSyncs must specify spec.oci when spec.sourceType is "oci"`},
		{"no name of the image", "{sourceType: oci, oci: {auth: none}}", `RootSyncs must specify spec.oci.image when spec.sourceType is "oci"`},
		{
			"an unknown way of access to an image", "{sourceType: oci, oci: {image: i, auth: ssh}}",
			"RootSyncs must specify spec.oci.auth to be one of gcenode,gcpserviceaccount,k8sserviceaccount,none,token",
		},
		{
			"no account for an image", "{sourceType: oci, oci: {image: i, auth: gcpserviceaccount}}",
			`RootSyncs which specify spec.oci.auth as "gcpserviceaccount" must also specify spec.oci.gcpServiceAccountEmail`,
		},
		{
			"no Secret for an image", "{sourceType: oci, oci: {image: i, auth: token}}",
			`RootSyncs which specify spec.oci.auth as one of "ssh", "cookiefile", "githubapp", or "token" must also specify spec.oci.secretRef`,
		},
		{
			"a folder outside of an image", "{sourceType: oci, oci: {image: i, auth: none, dir: ..}}",
			`spec.oci.dir is "..", which leads out of the source: set it to a folder in it`,
		},

		{"no chart", "{sourceType: helm}", `RootSyncs must specify spec.helm when spec.sourceType is "helm"`},
		{"no repository of the chart", "{sourceType: helm, helm: {chart: c, auth: none}}", `RootSyncs must specify spec.helm.repo when spec.sourceType is "helm"`},
		{"no name of the chart", "{sourceType: helm, helm: {repo: r, auth: none}}", `RootSyncs must specify spec.helm.chart when spec.sourceType is "helm"`},
		{"a path of the chart", "{sourceType: helm, helm: {repo: r, chart: a/c, auth: none}}", "RootSync field spec.helm.chart must not contain a slash (/)"},
		{
			"an unknown way of access to a chart", "{sourceType: helm, helm: {repo: r, chart: c, auth: ssh}}",
			"RootSyncs must specify spec.helm.auth to be one of gcenode,gcpserviceaccount,k8sserviceaccount,none,token",
		},
		{
			"a Secret that a chart does not need", "{sourceType: helm, helm: {repo: r, chart: c, auth: k8sserviceaccount, secretRef: {name: s}}}",
			`RootSyncs which specify spec.helm.auth as one of "none", "gcenode", or "gcpserviceaccount" must not specify spec.helm.secretRef`,
		},
		{
			"two namespaces of a chart", "{sourceType: helm, helm: {repo: r, chart: c, auth: none, namespace: a, deployNamespace: b}}",
			"RootSyncs must specify only one of 'spec.helm.namespace' or 'spec.helm.deployNamespace'",
		},
		{
			"values without a name", "{sourceType: helm, helm: {repo: r, chart: c, auth: none, valuesFileRefs: [{dataKey: k}]}}",
			"RootSyncs must specify spec.helm.valuesFileRefs.name",
		},

		{
			"a Role without its namespace", "{git: {repo: 'https://h/r', auth: none}, override: {roleRefs: [{kind: Role, name: a}]}}",
			"RootSyncs must specify 'spec.override.roleRefs.namespace' for role references with kind Role",
		},
		{
			"a role of an unknown kind", "{git: {repo: 'https://h/r', auth: none}, override: {roleRefs: [{kind: Group, name: a}]}}",
			`spec.override.roleRefs has the kind "Group": set it to "Role" or "ClusterRole"`,
		},
		{
			"a role without a name", "{git: {repo: 'https://h/r', auth: none}, override: {roleRefs: [{kind: ClusterRole, name: ''}]}}",
			"spec.override.roleRefs has no name: set it to that of a ClusterRole",
		},
		{
			"an unknown status mode", "{git: {repo: 'https://h/r', auth: none}, override: {statusMode: 'on'}}",
			`spec.override.statusMode is "on": set it to "enabled" or "disabled"`,
		},
		{
			"a negative depth", "{git: {repo: 'https://h/r', auth: none}, override: {gitSyncDepth: -1}}",
			"spec.override.gitSyncDepth is -1: set it to a number of commits, or to 0 for all of them",
		},
		{
			"no timeout", "{git: {repo: 'https://h/r', auth: none}, override: {reconcileTimeout: x}}",
			`spec.override.reconcileTimeout is "x", which is no duration: set it to one such as "30s" or "5m"`,
		},
		{
			"no timeout of calls", "{git: {repo: 'https://h/r', auth: none}, override: {apiServerTimeout: 1}}",
			`spec.override.apiServerTimeout is "1", which is no duration: set it to one such as "30s" or "5m"`,
		},
		{
			"an unknown strategy", "{git: {repo: 'https://h/r', auth: none}, override: {namespaceStrategy: none}}",
			`spec.override.namespaceStrategy is "none": set it to "implicit" or "explicit"`,
		},

		{
			"the format that is the default", "{git: {repo: 'https://h/r', auth: none}}",
			`spec.sourceFormat is not set, which means "hierarchy", and Holdfast does not read that format: set spec.sourceFormat to "unstructured"`,
		},
		{
			"the format with folders for namespaces", "{sourceFormat: hierarchy, git: {repo: 'https://h/r', auth: none}}",
			`spec.sourceFormat is "hierarchy", and Holdfast does not read that format: set spec.sourceFormat to "unstructured"`,
		},
		{
			"a chart", "{sourceFormat: unstructured, sourceType: helm, helm: {repo: r, chart: c, auth: none}}",
			`Holdfast does not sync Helm charts: commit what "helm template" writes, and set spec.sourceType to "git" or "oci"`,
		},
		{
			"a file of cookies", "{sourceFormat: unstructured, git: {repo: 'https://h/r', auth: cookiefile, secretRef: {name: s}}}",
			`spec.git.auth is "cookiefile", which Holdfast does not have: set it to "none", "token" or "ssh"`,
		},
		{
			"an account of a cluster, for an image", "{sourceFormat: unstructured, sourceType: oci, oci: {image: i, auth: k8sserviceaccount}}",
			`spec.oci.auth is "k8sserviceaccount", which Holdfast does not have: set it to "none" or "token"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(rootSync(t, tt.spec))
			refused(t, err, tt.want)
		})
	}
}

func TestValidAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://example.com/r.git":     true,
		"http://example.com:8080/r":     true,
		"ssh://git@example.com:22/r":    true,
		"ssh://git@[::1]/r":             true,
		"git@example.com:team/r.git":    true,
		"example.com:r":                 true,
		"file:///srv/r":                 true,
		"git://example.com/r":           true,
		"/srv/r":                        false,
		"r":                             false,
		"https://":                      false,
		"ftp://example.com/r":           false,
		"ext::sh -c touch% x":           false,
		"ext::https://example.com/r":    false,
		"--upload-pack=x:y":             false,
		"ssh://-oProxyCommand=x/r":      false,
		"git@-oProxyCommand=x:r":        false,
		"https://example.com/r\n[core]": false,
		"fd::17":                        false,
		":r":                            false,
		"example.com:":                  false,
		"./example.com:r":               false,
	} {
		if got := validAddress(address); got != want {
			t.Errorf("%q: got %t, want %t", address, got, want)
		}
	}
}

func TestSource_Context(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		source Source
		want   string
	}{
		{"a repository", Source{Type: "git", Address: "https://h/r?a&b", Branch: "main", Revision: "HEAD"}, `{"repo":"https://h/r?a\u0026b","branch":"main","rev":"HEAD"}`},
		{"a repository with a password", Source{Type: "git", Address: "https://me:secret@h/r"}, `{"repo":"https://h/r"}`},
		{"a repository with a token", Source{Type: "git", Address: "https://token@h/r"}, `{"repo":"https://h/r"}`},
		{"a repository by ssh", Source{Type: "git", Address: "ssh://git@h/r"}, `{"repo":"ssh://git@h/r"}`},
		{"a repository by ssh, in short", Source{Type: "git", Address: "git@h:r"}, `{"repo":"git@h:r"}`},
		{"an image", Source{Type: "oci", Address: "h/i:1", Dir: "."}, `{"image":"h/i:1","dir":"."}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.source.Context()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
