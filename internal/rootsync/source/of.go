// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/oci"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Of is the source of a RootSync, with what it is fetched with.
func Of(s spec.Source, c spec.Credentials) Spec {
	out := Spec{Period: s.Period}
	if s.Type == configsyncv1beta1.SourceOCI {
		out.OCI = oci.Remote{Image: s.Address, Username: remote.Secret(c.Username), Password: remote.Secret(c.Password), CA: c.CA}
		return out
	}
	out.Git = git.Remote{
		URL: s.Address, Username: remote.Secret(c.Username), Password: remote.Secret(c.Password),
		PrivateKey: remote.Secret(c.SSHKey), KnownHosts: remote.Secret(c.KnownHosts), CA: c.CA, NoSSLVerify: s.SkipTLSVerify, Proxy: c.Proxy,
	}
	out.Target = remote.Target{Branch: s.Branch, Revision: s.Revision, Depth: int(s.Depth)}
	return out
}
