// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// created decides about an account that is not there.
func created(f Facts, w mapping.Want) Verdict {
	out := Verdict{Action: Action{Do: Create, Object: account(f.NamespacedName, w.Labels, w.Annotations, listed(w.OwnerReference))}}
	for _, k := range keysOf(w.Labels, w.Annotations) {
		value, _ := valueOf(w.Labels, w.Annotations, k)
		out.Report.Changes = append(out.Report.Changes, Change{Key: k, Kind: Added, To: value, Identity: IdentityOf(k)})
	}
	slices.SortFunc(out.Report.Changes, func(a, b Change) int { return a.compare(b.Key) })
	return out
}

// account is a service account with nothing but what is said of it.
func account(name types.NamespacedName, labels, annotations map[string]string, owners []metav1.OwnerReference) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount"}}
	out.SetNamespace(name.Namespace)
	out.SetName(name.Name)
	if len(labels) > 0 {
		out.SetLabels(labels)
	}
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	if len(owners) > 0 {
		out.SetOwnerReferences(owners)
	}
	return out
}

func listed(owner *metav1.OwnerReference) []metav1.OwnerReference {
	if owner == nil {
		return nil
	}
	return []metav1.OwnerReference{*owner}
}

// applied decides about an account of which the template's part is applied.
func (s *sight) applied() Verdict {
	keys := s.judge()
	out := Verdict{Action: Action{Do: Nothing}}
	for i := range keys {
		out.Report.Changes = append(out.Report.Changes, keys[i].Change)
	}
	if conflicting := inConflict(keys); conflicting != "" {
		out.Report.Problem = ProblemConflict
		out.Report.Message = fmt.Sprintf("others have set %s to another value, and the template says that it fails then", conflicting)
		return out
	}
	owners, same := s.references()
	settled := same && s.settled(keys)
	switch {
	case len(s.taken) > 0, !settled && s.fields.posted():
		out.act(s.takeOver())
	case !settled:
		out.Action = s.apply(keys, owners)
	}
	return out
}

func inConflict(keys []judged) string {
	var out []string
	for i := range keys {
		if keys[i].Kind == Conflicting {
			out = append(out, fmt.Sprintf("the %s %s", keys[i].Field, keys[i].Name))
		}
	}
	return strings.Join(out, ", ")
}

// settled says whether Holdfast owns the keys that it is to own and no more, and all of
// them have their values.
func (s *sight) settled(keys []judged) bool {
	ours := maps.Clone(s.ours)
	for i := range keys {
		k := &keys[i]
		if k.include != ours[k.Key] || k.include && k.Kind != Kept {
			return false
		}
		delete(ours, k.Key)
	}
	return len(ours) == 0
}

// references are those that Holdfast has set, and that of the object as it is to be. It
// never gives one to an account that is there, which would then go with its owner.
func (s *sight) references() (out []metav1.OwnerReference, same bool) {
	same = true
	for _, r := range s.Live.OwnerReferences {
		if !s.fields.has(ownerPath(r.UID)) {
			continue
		}
		if r.UID != s.want.Source.UID {
			out = append(out, r)
			continue
		}
		to := s.want.OwnerReference
		if to == nil && s.want.Enabled && len(s.Live.OwnerReferences) > 1 {
			to = &r // or the account would be the others' alone
		}
		out = append(out, listed(to)...)
		same = to != nil && sameReference(r, *to)
	}
	return out, same
}

func sameReference(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name &&
		ptr.Deref(a.Controller, false) == ptr.Deref(b.Controller, false) &&
		ptr.Deref(a.BlockOwnerDeletion, false) == ptr.Deref(b.BlockOwnerDeletion, false)
}

func (s *sight) apply(keys []judged, owners []metav1.OwnerReference) Action {
	labels, annotations := map[string]string{}, map[string]string{}
	force := false
	for i := range keys {
		if !keys[i].include {
			continue
		}
		into := labels
		if keys[i].Field == Annotation {
			into = annotations
		}
		into[keys[i].Name] = keys[i].To
		force = force || keys[i].force
	}
	object := account(s.NamespacedName, labels, annotations, owners)
	object.SetUID(s.Live.UID)
	if force {
		// Only what was looked at is forced.
		object.SetResourceVersion(s.Live.ResourceVersion)
	}
	return Action{Do: Apply, Object: object, Force: force}
}

// released takes off an account what only Holdfast has set on it, for an object that
// has it no more; for none if that has gone.
func released(f Facts, of mapping.Source, why string) Verdict {
	s, err := see(f, mapping.Want{Source: of})
	if err != nil {
		return refused(ProblemUnreadable, "%v", err)
	}
	out := nothing("")
	for _, j := range s.judge() {
		out.Report.Changes = append(out.Report.Changes, j.Change)
	}
	owners, same := s.references()
	if same && len(s.ours) == 0 {
		return out
	}
	out.Report.Message = why
	if s.fields.posted() {
		out.act(s.takeOver())
		return out
	}
	object := account(f.NamespacedName, nil, nil, owners)
	object.SetUID(f.Live.UID)
	out.Action = Action{Do: Release, Object: object}
	return out
}
