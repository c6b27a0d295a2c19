// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// subnamespaces returns the parents of those that do not follow the PodSecurity labels of their parent, by name.
func subnamespaces(list []corev1.Namespace) map[string]string {
	out := map[string]string{}
	for i := range list {
		_, follows := list[i].Annotations[v1alpha1.InheritedPodSecurityAnnotation]
		if parent := list[i].Annotations[hncv1alpha2.AnnotationSubnamespaceOf]; parent != "" && !follows {
			out[list[i].Name] = parent
		}
	}
	return out
}

// unbounded finds subnamespaces without the PodSecurity labels that their parent has. Those that HNC or an older Holdfast
// created do not follow their parent, since that could keep what runs there from starting again.
func unbounded(f *facts, mode configv1alpha1.Mode) []Finding {
	if mode == configv1alpha1.ModeOff {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(f.unfollowing)) {
		for key, value := range f.namespaces[f.unfollowing[name]] {
			if strings.HasPrefix(key, tree.PodSecurityPrefix) && f.namespaces[name][key] != value {
				names = append(names, name)
				break
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Finding{{
		Others, Warning,
		fmt.Sprintf("%d subnamespaces have other PodSecurity labels than their parents, and do not follow them: %s", len(names), some(names)),
		"look at what runs there, then remove the labels that begin with " + tree.PodSecurityPrefix + " from the namespace, and: kubectl annotate namespace NAME " + v1alpha1.InheritedPodSecurityAnnotation + "=",
	}}
}

// some names the first few.
func some(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
