// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Conflicts says what becomes of keys that someone else has set to another value.
// The zero value yields.
type Conflicts struct {
	in v1alpha1.AccountConflicts
}

// For is the policy for a key.
func (c Conflicts) For(key string) v1alpha1.ConflictPolicy {
	for _, k := range c.in.Keys {
		if glob(k.Pattern, key) {
			return k.Policy
		}
	}
	return cmp.Or(c.in.Default, v1alpha1.ConflictYield)
}

// glob says whether all of a text matches a pattern, in which * stands for any
// characters and ? for one. Keys have no characters of more than one byte.
func glob(pattern, text string) bool {
	// After a star, what follows is tried one character further each time; the last
	// star is enough to go back to.
	star, from := -1, 0
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// marks are the prefixes of keys by which Holdfast and others know whose an object
// is. What is true of an object is not of its account: an account with the mark of
// a copy would be deleted as one. Nobody may set them through an object either:
// Holdfast may write labels that others may not, and must not do so for them, and an
// account with the mark of another tool would go with what that tool prunes.
var marks = []string{
	v1alpha1.GroupName + "/", "hnc.x-k8s.io/", "configsync.gke.io/", "configmanagement.gke.io/",
	"config.k8s.io/", "config.kubernetes.io/", "cli-utils.sigs.k8s.io/", "applyset.kubernetes.io/",
}

// marked are whole keys of that sort, whose prefixes have harmless ones too: those by
// which objects are protected from deletion, and those by which tools know what is
// theirs to prune. Flux knows that by a list of its own: its labels are harmless.
var marked = sets.New(
	v1alpha1.KarmadaDeletionProtectedLabel, v1alpha1.KruiseDeletionProtectionLabel,
	"argocd.argoproj.io/instance", "argocd.argoproj.io/tracking-id",
	"meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
	"kubectl.kubernetes.io/last-applied-configuration",
)

// isMark says whether no template may set a key.
func isMark(key string) bool { return marked.Has(key) || hasPrefix(key, marks) }

func hasPrefix(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
		// The keys of subdomains too, such as rbac.holdfast.dev/x or a.tree.hnc.x-k8s.io/depth.
		if domain, _, found := strings.Cut(key, "/"); found && strings.HasSuffix(domain+"/", "."+p) {
			return true
		}
	}
	return false
}
