// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// RollMessage is what the Strimzi Drain Cleaner tells whoever evicts.
const RollMessage = "The pod will be rolled by the Strimzi Cluster Operator"

const (
	strimziKindLabel = "strimzi.io/kind"
	strimziNameLabel = "strimzi.io/name"
)

// DrainCleaner are the rules of the Strimzi Drain Cleaner; the zero value has
// none.
type DrainCleaner struct {
	Enabled bool
	// Kafka and ZooKeeper say which pods count.
	Kafka, ZooKeeper bool
	// Deny refuses evictions; otherwise the pod is annotated and the eviction passes.
	Deny bool
}

// matches says whether a pod counts, by the labels that Strimzi's operator sets.
func (d DrainCleaner) matches(labels map[string]string) bool {
	if !d.Enabled || labels[strimziKindLabel] != "Kafka" {
		return false
	}
	name := labels[strimziNameLabel]
	return d.Kafka && endsBehind(name, "-kafka") || d.ZooKeeper && endsBehind(name, "-zookeeper")
}

// endsBehind says whether the name has something in front of the suffix.
func endsBehind(name, suffix string) bool {
	return len(name) > len(suffix) && strings.HasSuffix(name, suffix)
}

// decide knows no exemptions, because the Drain Cleaner has none: a pod that is
// terminating is refused as well.
func (d DrainCleaner) decide(s Settings, f Facts) (Verdict, bool) {
	if !d.matches(f.Meta.Labels) {
		return Verdict{}, false
	}
	v := Verdict{DrainCleaner: true, Mode: s.Mode, Outcome: OutcomeAllowed, Allowed: true}
	if f.otherUID() {
		v.Outcome = OutcomeOtherUID
		return v, true
	}
	if d.Deny {
		v.Outcome, v.Allowed, v.Code, v.Message = OutcomeHeld, false, codeInternalError, RollMessage
	}
	v.Patch = missing(f.Meta, &Patch{Annotations: map[string]string{v1alpha1.StrimziRollAnnotation: v1alpha1.StrimziRollValue}})
	return v, true
}

// otherUID says whether the eviction is meant for an earlier pod of the name.
func (f Facts) otherUID() bool { return f.Request.UID != "" && f.Request.UID != f.Meta.UID }

// missing returns what of a patch is not so already; nil if nothing is missing.
func missing(o *metav1.ObjectMeta, want *Patch) *Patch {
	p := &Patch{Annotations: without(want.Annotations, o.Annotations), Labels: without(want.Labels, o.Labels)}
	if len(p.Annotations)+len(p.Labels) == 0 {
		return nil
	}
	return p
}

func without(want, have map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range want {
		if got, ok := have[k]; !ok || got != v {
			out[k] = v
		}
	}
	return out
}
