// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

func TestSource(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, spec, short, whole string }{
		{"a branch and a folder", `git: {repo: "https://github.com/acme/platform.git", branch: main, dir: clusters/prod, auth: none}`,
			"github.com/acme/platform@main:clusters/prod", "https://github.com/acme/platform.git@main:clusters/prod"},
		{"nothing but a repository", `git: {repo: "https://github.com/acme/platform", auth: none}`, "github.com/acme/platform@master", "https://github.com/acme/platform@master"},
		{"a revision goes before a branch", `git: {repo: "https://h/r", branch: main, revision: v1, dir: /, auth: none}`, "h/r@v1", "https://h/r@v1"},
		{"HEAD is the branch", `git: {repo: "https://h/r", branch: main, revision: HEAD, dir: ., auth: none}`, "h/r@main", "https://h/r@main"},
		{"ssh, with the user before the host", `git: {repo: "git@github.com:acme/platform.git", branch: main, auth: ssh}`,
			"github.com/acme/platform@main", "git@github.com:acme/platform.git@main"},
		{"ssh, as a URL", `git: {repo: "ssh://git@h:2222/r", branch: main, auth: ssh}`, "h:2222/r@main", "ssh://git@h:2222/r@main"},
		{"a token is not shown", `git: {repo: "https://me:secret@h/r", branch: main, auth: none}`, "h/r@main", "https://h/r@main"},
		{"nor one that looks like a user", `git: {repo: "https://secret@h/r", branch: main, auth: none}`, "h/r@main", "https://h/r@main"},
		{"an image", `sourceType: oci
oci: {image: "h/p/i:v1", dir: a, auth: none}`, "h/p/i:v1:a", "h/p/i:v1:a"},
		{"a chart", `sourceType: helm
helm: {repo: "https://h/charts/", chart: c, version: 1.2.3, auth: none}`, "h/charts/c@1.2.3", "https://h/charts/c@1.2.3"},
		{"what is not there", `sourceType: oci`, "<none>", "<none>"},
		{"what is long ends as it is", `git: {repo: "https://github.com/a-very-large-company/its-only-repository", branch: main, dir: clusters/prod, auth: none}`,
			"…ge-company/its-only-repository@main:clusters/prod", "https://github.com/a-very-large-company/its-only-repository@main:clusters/prod"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := sourceOf(*read[configsyncv1beta1.RootSyncSpec](t, tt.spec))
			if diff := cmp.Diff([]string{tt.short, tt.whole}, []string{s.short(), s.String()}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestShortCommit(t *testing.T) {
	t.Parallel()
	for commit, want := range map[string]string{
		"": "", c1: "1111111", "sha256:" + c1 + "000000000000000000000000": "1111111", "chart:1.2.3": "chart:1.2.3",
	} {
		if got := ShortCommit(commit); got != want {
			t.Errorf("%s: got %q, want %q", commit, got, want)
		}
	}
}
