// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Settings are what the configuration says about all namespaces. The functions
// must always give the same answer; another answer needs other Settings.
type Settings struct {
	// Managed says whether a namespace of this name is managed; nil says yes of all.
	Managed func(name string) bool
	// Reserved reports whether no anchor may create a namespace of this name; nil reserves none.
	Reserved func(name string) bool
	// ManagedLabel and ManagedAnnotation say which keys can be set for a whole
	// subtree. Such keys are taken away where nothing sets them. Nil allows none.
	ManagedLabel, ManagedAnnotation Keys
	// DeletingCRD says that the CRD of HierarchyConfigurations is on its way out,
	// which halts everything.
	DeletingCRD bool
}

func (s Settings) managed(name string) bool { return s.Managed == nil || s.Managed(name) }

func (s Settings) reserved(name string) bool { return s.Reserved != nil && s.Reserved(name) }

// Keys is a set of keys of labels or annotations.
type Keys []*regexp.Regexp

// CompileKeys makes the set of the keys that one of the expressions matches from
// begin to end.
func CompileKeys(expressions []string) (Keys, error) {
	var out Keys
	for _, e := range expressions {
		r, err := regexp.Compile("^(?:" + e + ")$")
		if err != nil {
			return nil, fmt.Errorf("managed keys %q: %w", e, err)
		}
		if r.MatchString(hncv1alpha2.GroupName) {
			return nil, fmt.Errorf("managed keys %q: matches %s, whose keys say where a namespace stands", e, hncv1alpha2.GroupName)
		}
		if bound := namesBound(e); bound != "" {
			return nil, fmt.Errorf("managed keys %q: names %s, which bounds what the users of a namespace may do, and who may write "+
				"a HierarchyConfiguration could set it: remove it here, and label or annotate the Namespaces", e, bound)
		}
		out = append(out, r)
	}
	return out, nil
}

// Has reports whether the set contains a key. It never contains keys of HNC, of Holdfast, of RootSyncs and of other tools that
// prune, nor those that protect from deletion or bound what users may do, whatever the expressions match: Holdfast writes to
// Namespaces what users write into a HierarchyConfiguration, and the policies let it write marks.
func (k Keys) Has(key string) bool {
	if OfHNC(key) || strings.HasPrefix(key, v1alpha1.GroupName+"/") || ofOthers(key) || BoundsSecurity(key) {
		return false
	}
	for _, r := range k {
		if r.MatchString(key) {
			return true
		}
	}
	return false
}

// othersKeys are keys, and prefixes of keys, by which others recognise and treat a Namespace. If a tree managed them, it would
// remove them as often as they are written, and a user who may write a HierarchyConfiguration would decide who prunes the
// Namespace, and whether it is protected.
var othersKeys = []string{
	// RootSyncs, and the objects that they apply.
	"app.kubernetes.io/managed-by", "applyset.kubernetes.io/", "config.k8s.io/owning-inventory", "configmanagement.gke.io/", "configsync.gke.io/",
	"client.lifecycle.config.k8s.io/", "config.kubernetes.io/",
	// Flux, Argo CD and Helm, whose marks are claims on a namespace.
	"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "argocd.argoproj.io/", "meta.helm.sh/",
	// The protection of Karmada and of OpenKruise.
	v1alpha1.KarmadaDeletionProtectedLabel, v1alpha1.KruiseDeletionProtectionLabel,
}

func ofOthers(key string) bool {
	return slices.ContainsFunc(othersKeys, func(k string) bool {
		return key == k || strings.HasSuffix(k, "/") && strings.HasPrefix(key, k)
	})
}

// OfHNC says whether a key of a label or an annotation is one of HNC's own: the
// part before the slash ends in its domain.
func OfHNC(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && strings.HasSuffix(prefix, hncv1alpha2.GroupName)
}
