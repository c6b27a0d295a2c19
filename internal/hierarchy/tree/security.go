// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// PodSecurityPrefix begins the keys of the labels by which the PodSecurity admission plugin bounds the pods of a namespace.
const PodSecurityPrefix = "pod-security.kubernetes.io/"

// securityBounds are keys, and beginnings of keys, of labels and annotations of Namespaces that bound what their users may
// do. Nobody sets those through Holdfast, which may write any Namespace.
var securityBounds = []string{
	PodSecurityPrefix,
	"kubernetes.io/metadata.name",                                                  // which policies and NetworkPolicies select by
	"scheduler.alpha.kubernetes.io/",                                               // PodNodeSelector and PodTolerationRestriction
	"security.openshift.io/", "openshift.io/sa.scc.", "openshift.io/node-selector", // what OpenShift lets pods run as, and where
	"admission.gatekeeper.sh/ignore", // Gatekeeper checks nothing there
	"field.cattle.io/projectId",      // Rancher gives rights to the members of the project
}

// BoundsSecurity reports whether a label or annotation of a Namespace bounds what its users may do.
func BoundsSecurity(key string) bool {
	return slices.ContainsFunc(securityBounds, func(b string) bool {
		return key == b || strings.HasPrefix(key, b) && strings.ContainsAny(b[len(b)-1:], "/.")
	})
}

// namesBound returns the one of securityBounds that a regular expression spells out; "" if it spells out none, as .*/.*
// does.
func namesBound(expression string) string {
	text := strings.NewReplacer(`\.`, ".", `\-`, "-", `\/`, "/").Replace(expression)
	for _, b := range securityBounds {
		before, _, found := strings.Cut(text, b)
		if found && !strings.ContainsAny(before[max(0, len(before)-1):], "abcdefghijklmnopqrstuvwxyz0123456789-./") {
			return b
		}
	}
	return ""
}

// inherited are the PodSecurity labels that a namespace should have, which it hands down.
type inherited struct {
	labels map[string]string
	// follows says that the parent counts, and record are the labels that the namespace has from it.
	follows bool
	record  string
}

// podSecurity decides which PodSecurity labels a namespace should have. A subnamespace with the annotation that records
// what it has from its parent follows the parent. A label with another value than was recorded is an administrator's, and
// stays; the record stays too, so that setting the old value again has it follow. A label that is missing comes again.
func (n *node) podSecurity(up *line) inherited {
	own := podSecurityOf(n.object.Labels)
	text, recorded := n.object.Annotations[v1alpha1.InheritedPodSecurityAnnotation]
	if up == nil || !recorded || n.subnamespaceOf() == "" {
		return inherited{labels: own}
	}
	record := parseRecord(text)
	labels, next := map[string]string{}, map[string]string{}
	for _, of := range []map[string]string{own, record, up.podSecurity} {
		for key := range of {
			value, has := own[key]
			was, had := record[key]
			if has && !(had && was == value) {
				labels[key] = value
				if had {
					next[key] = was
				}
			} else if above, ok := up.podSecurity[key]; ok {
				labels[key], next[key] = above, above
			}
		}
	}
	return inherited{labels: labels, follows: true, record: formatRecord(next)}
}

func podSecurityOf(labels map[string]string) (out map[string]string) {
	for key, value := range labels {
		if strings.HasPrefix(key, PodSecurityPrefix) {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// parseRecord reads what formatRecord wrote. What cannot be read was not recorded.
func parseRecord(text string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, found := strings.Cut(pair, "="); found {
			out[PodSecurityPrefix+name] = value
		}
	}
	return out
}

// formatRecord writes labels as "enforce=restricted,warn=baseline". Neither keys nor values contain commas or equals signs.
func formatRecord(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, strings.TrimPrefix(key, PodSecurityPrefix)+"="+labels[key])
	}
	return strings.Join(out, ",")
}
