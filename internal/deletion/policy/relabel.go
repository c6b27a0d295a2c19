// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// onRelabel refuses to change a label by which protections select the object, whatever its new value would be. The
// cluster's controllers copy labels to what they make, and kubelets write some of their nodes.
func (r Rules) onRelabel(k Key, req Request) []Finding {
	if req.Operation != admissionv1.Update || !k.protects(req.Resource, req.OldObject) || terminating(req.OldObject) || req.MayUnprotect {
		return nil
	}
	changed := k.relabelled(req)
	if len(changed) == 0 || r.machine(req) && (req.Resource == nodes || derived(req.Resource, req.OldObject)) {
		return nil
	}
	message := strings.ReplaceAll(k.RelabelMessage(), KeysPlace, strings.Join(changed, ", "))
	return []Finding{{Rule: RuleRelabel, Key: k, Message: k.render(message, req)}}
}

// relabelled returns the keys of the labels by which protections select the object and which an update changes.
func (k Key) relabelled(req Request) []string {
	selecting := req.OldObject.Annotations[v1alpha1.LabelsAnnotation(k.Label)]
	if selecting == "" {
		return nil
	}
	return slices.DeleteFunc(strings.Split(selecting, ","), func(key string) bool {
		before, had := labels(req.OldObject)[key]
		after, has := labels(req.Object)[key]
		return before == after && had == has
	})
}
