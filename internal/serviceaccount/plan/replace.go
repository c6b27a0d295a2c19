// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// pullSecretAnnotation is written by OpenShift, which makes a new pull secret when it
	// goes.
	pullSecretAnnotation = "openshift.io/internal-registry-pull-secret-ref"
	automountField       = "automountServiceAccountToken"
)

// replaced decides about an account of which everything goes that is not the
// template's, but the secrets: a pod's tokens stay good. Operators beside Holdfast
// keep what they have set.
func (s *sight) replaced() Verdict {
	out := Verdict{Action: Action{Do: Nothing}}
	metadata := map[string]any{}
	values := map[Field]map[string]any{Label: {}, Annotation: {}}
	for _, j := range s.judge() {
		c := s.replaceKey(j.Change)
		out.Report.Changes = append(out.Report.Changes, c)
		switch c.Kind {
		case Added, Changed:
			values[c.Field][c.Name] = c.To
		case Removed:
			values[c.Field][c.Name] = nil
		default:
		}
	}
	for field, changed := range values {
		if len(changed) > 0 {
			metadata[parents[field]] = changed
		}
	}
	others := s.replaceOthers(metadata, &out.Report)
	if len(metadata)+len(others) > 0 {
		patch, err := s.patch(metadata, others...)
		out.act(Action{Do: Replace, Patch: patch}, err)
	}
	return out
}

// replaceKey says what becomes of a key whoever has set it.
func (s *sight) replaceKey(c Change) Change {
	from, there := s.live(c.Key)
	to, wanted := s.wanted(c.Key)
	c.From, c.To = from, to
	stays := s.keeps(c.Key) || !wanted && c.Key == Key{Annotation, pullSecretAnnotation}
	if there && (stays && !wanted || wanted && from == to) {
		c.Kind, c.To = Kept, from
		return c
	}
	switch {
	case stays:
		c.Kind = s.left(c.Key, false)
	case !wanted:
		c.Kind = Removed
	case there:
		c.Kind = Changed
	default:
		c.Kind = Added
	}
	return c
}

// keeps reports whether Holdfast leaves a key as it is, whatever the object wants.
func (s *sight) keeps(k Key) bool {
	return s.withheld(k) || s.GivenUp.Has(k) || s.operated(s.others(k))
}

// replaceOthers takes finalizers, other owners and the automount setting off. It adds
// to the metadata of the patch, and names the fields beside it that go.
func (s *sight) replaceOthers(metadata map[string]any, r *Report) (others []string) {
	removed := func(path, from string) {
		r.Changes = append(r.Changes, Change{Key: Key{Other, path}, Kind: Removed, From: from})
	}
	if f := s.Live.Finalizers; len(f) > 0 && !s.stays("metadata.finalizers", fieldpath.MakePathOrDie("metadata", "finalizers")) {
		metadata["finalizers"] = nil
		removed("metadata.finalizers", strings.Join(f, ","))
	}
	// Metadata do not have the setting, but whoever has made it owns it.
	if path := fieldpath.MakePathOrDie(automountField); len(s.fields.owners(path)) > 0 && !s.stays(automountField, path) {
		others = append(others, automountField)
		removed(automountField, "set")
	}
	s.replaceOwners(metadata, r)
	return others
}

// stays says whether a field is left alone because somebody always sets it again, or an
// operator that runs beside Holdfast has set it.
func (s *sight) stays(name string, path fieldpath.Path) bool {
	return s.GivenUp.Has(Key{Other, name}) ||
		slices.ContainsFunc(s.fields.owners(path), func(o Owner) bool { return s.Operators.Has(o.Manager) })
}

func (s *sight) replaceOwners(metadata map[string]any, r *Report) {
	only, found := s.onlyOwner()
	owners := s.Live.OwnerReferences
	if !found || len(owners) == 1 && sameReference(owners[0], only) || s.stays("metadata.ownerReferences", fieldpath.MakePathOrDie("metadata", "ownerReferences")) {
		return
	}
	metadata["ownerReferences"] = []metav1.OwnerReference{only}
	c := Change{Key: Key{Other, "metadata.ownerReferences"}, Kind: Changed, To: only.Kind + "/" + only.Name}
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = o.Kind + "/" + o.Name
	}
	c.From = strings.Join(names, ",")
	r.Changes = append(r.Changes, c)
}

// onlyOwner is the reference that an account keeps. One that has none gets none: it
// would go with its owner.
func (s *sight) onlyOwner() (metav1.OwnerReference, bool) {
	for _, r := range s.Live.OwnerReferences {
		if r.UID == s.want.Source.UID {
			return ptr.Deref(s.want.OwnerReference, r), true
		}
	}
	return metav1.OwnerReference{}, false
}
