// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// source is what a RootSync syncs.
type source struct {
	Type string `json:"type"`
	// Address is that of the repository, the image or the chart, without a password.
	Address string `json:"address"`
	// Ref is the branch or revision, or the version of a chart.
	Ref string `json:"ref,omitempty"`
	Dir string `json:"dir,omitempty"`
}

func sourceOf(s configsyncv1beta1.RootSyncSpec) source {
	out := source{Type: string(cmp.Or(s.SourceType, configsyncv1beta1.SourceGit))}
	switch {
	case out.Type == string(configsyncv1beta1.SourceGit) && s.Git != nil:
		out.Address, out.Dir = s.Git.Repo, s.Git.Dir
		out.Ref = cmp.Or(s.Git.Revision, spec.DefaultRevision)
		if out.Ref == spec.DefaultRevision {
			out.Ref = cmp.Or(s.Git.Branch, spec.DefaultBranch)
		}
	case out.Type == string(configsyncv1beta1.SourceOCI) && s.OCI != nil:
		out.Address, out.Dir = s.OCI.Image, s.OCI.Dir
	case out.Type == string(configsyncv1beta1.SourceHelm) && s.Helm != nil:
		out.Address, out.Ref = strings.TrimSuffix(s.Helm.Repo, "/")+"/"+s.Helm.Chart, s.Helm.Version
	}
	out.Address = spec.WithoutPassword(out.Address)
	if out.Dir = strings.Trim(path.Clean("/"+out.Dir), "/"); out.Dir == "." {
		out.Dir = ""
	}
	return out
}

// String is the source as it is.
func (s source) String() string { return s.text(s.Address) }

func (s source) text(address string) string {
	if address == "" {
		return none
	}
	if s.Ref != "" {
		address += "@" + s.Ref
	}
	if s.Dir != "" {
		address += ":" + s.Dir
	}
	return address
}

// widest is how much room a source has in a table.
const widest = 50

// userAt is the user in the address of a host.
var userAt = regexp.MustCompile(`^[^@/:]+@`)

// short is the source for a table: without what is the same for most, and its end where
// it is too long, which tells more than its beginning.
func (s source) short() string {
	address := s.Address
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = userAt.ReplaceAllString(rest, "")
	} else if userAt.MatchString(address) {
		address = strings.Replace(userAt.ReplaceAllString(address, ""), ":", "/", 1) // git@host:path
	}
	text := s.text(strings.TrimSuffix(address, ".git"))
	if n := utf8.RuneCountInString(text); n > widest {
		text = "…" + string([]rune(text)[n-widest+1:])
	}
	return text
}

// hash is a commit, or the digest of an image.
var hash = regexp.MustCompile(`^(sha256:)?[0-9a-f]{40,64}$`)

const shortHash = 7

// ShortCommit is a commit for a table. The version of a chart stays as it is.
func ShortCommit(commit string) string {
	if !hash.MatchString(commit) {
		return commit
	}
	return strings.TrimPrefix(commit, "sha256:")[:shortHash]
}
