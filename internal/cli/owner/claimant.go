// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"net/url"
	"strings"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

const rootSyncs = configsyncv1beta1.Namespace

// nameOf is a claimant as people write it: what "flux/kustomization/flux-system/apps"
// stands for. One that is not known stays as it is.
func nameOf(claimant string) string {
	kind, rest, _ := strings.Cut(claimant, "/")
	switch kind {
	case "rootsync":
		return "RootSync " + plain(strings.TrimPrefix(rest, rootSyncs+"/"))
	case "anchor":
		return "the anchor in namespace " + plain(rest)
	case "configsync":
		return "Config Sync (" + plain(rest) + ")"
	case "argocd":
		return "Argo CD application " + plain(rest)
	case "helm":
		return "Helm release " + plain(rest)
	case "flux":
		kind, name, _ := strings.Cut(rest, "/")
		if names := map[string]string{"kustomization": "Kustomization", "helmrelease": "HelmRelease"}; names[kind] != "" {
			return "Flux " + names[kind] + " " + plain(name)
		}
	}
	return claimant
}

// plain takes back what makes a name one that a claim can hold.
func plain(name string) string {
	name = strings.TrimPrefix(name, "~/") // a namespace that is not known
	if out, err := url.PathUnescape(name); err == nil {
		return out
	}
	return name
}
