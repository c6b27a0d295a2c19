// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// carried are the protecting labels that an object carries, whatever their
// values, in the order of the keys.
func carried(o *metav1.PartialObjectMetadata, keys []policy.Key) []string {
	var out []string
	for _, k := range keys {
		if _, ok := carries(o, k); ok {
			out = append(out, k.Label)
		}
	}
	return out
}

// carries returns the value of a protecting label, and whether the object carries it at all. A mark that is not bound
// to the object counts as none.
func carries(o *metav1.PartialObjectMetadata, k policy.Key) (value string, ok bool) {
	if k.Mark != "" && !v1alpha1.Marked(o) {
		return "", false
	}
	value, ok = o.Labels[k.Label]
	return value, ok
}

// protectable says why a value of the strict label would not protect objects of a
// kind.
func protectable(r schema.GroupResource, mode string) error {
	switch {
	case policy.BeyondAdmission(r):
		return errors.New("the API server asks no policy about objects of this kind, so a label on one protects nothing; guard them by RBAC")
	case mode == v1alpha1.ProtectCascading && !policy.CanBeUsed(r):
		return fmt.Errorf("--mode %s means nothing for %s, which cannot be in use; it is for %s. Protect this one with --mode %s",
			mode, r, strings.Join(usedKinds(), ", "), v1alpha1.ProtectAlways)
	}
	return nil
}

// usedKinds are the kinds that can be in use, as kubectl writes them.
func usedKinds() []string {
	out := make([]string, 0, len(policy.UsedKinds))
	for _, k := range policy.UsedKinds {
		out = append(out, k.String())
	}
	return out
}

// protectChange sets the strict label. A value that means nothing is mended.
func protectChange(value string) func(target) (map[string]any, string) {
	return func(t target) (set map[string]any, outcome string) {
		if t.meta.Labels[v1alpha1.DeletionProtectedLabel] == value {
			return nil, "already protected"
		}
		return map[string]any{v1alpha1.DeletionProtectedLabel: value}, "protected"
	}
}

// unprotectChange takes every protecting label away: with one of them left the
// object would stay protected. Values that do not protect go too, so that the
// object is not listed any more; a value that means nothing here may still mean
// something to the tool that the label comes from. Marks are Holdfast's.
func unprotectChange(t target) (set map[string]any, outcome string) {
	found := carried(t.meta, labelKeys())
	switch {
	case len(found) > 0:
	case remains(t) != nil:
		return nil, "carries no protecting label"
	default:
		return nil, "not protected"
	}
	set, outcome = map[string]any{}, "unprotected"
	var upstream []string
	for _, label := range found {
		set[label] = nil
		if label != v1alpha1.DeletionProtectedLabel {
			upstream = append(upstream, label)
		}
	}
	if len(upstream) > 0 {
		outcome += " (removed " + strings.Join(found, ", ") + ")"
	}
	return set, outcome
}

// remains says which protection selects an object that has no label any more.
func remains(t target) error {
	o := t.meta
	if o.DeletionTimestamp != nil || v1alpha1.MarkOf(o, v1alpha1.OverrideMark) != "" {
		return nil
	}
	for _, key := range []string{v1alpha1.ProtectedByMark, v1alpha1.ProtectedWhileUsedByMark} {
		if v1alpha1.MarkOf(o, key) != "" {
			return fmt.Errorf("%s is still protected, by ResourceDeletionProtection %s. To let this one object go for a while: %s. "+
				"To protect it no longer, change what the protection selects: %s",
				t.where(), detailOf(o, key), askCommand(t, false), lookAt(o.Labels[key]))
		}
	}
	return nil
}

// remarkUnprotected says what is in the way of deleting an object although it is
// not protected itself; "" for nothing.
func remarkUnprotected(t target) string {
	if t.kind.GroupResource() == namespacesKind.GroupResource() && t.meta.DeletionTimestamp == nil && declares(t.meta) {
		return fmt.Sprintf("note: %s declares that what is in it is protected, and is not deleted while it does, if the feature gate DeletionProtectionByDefault is on. "+
			"To end that: kubectl label %s %s-", t.where(), t, v1alpha1.ProtectByDefaultLabel)
	}
	if t.meta.DeletionTimestamp != nil || v1alpha1.MarkOf(t.meta, v1alpha1.HoldsProtectedMark) == "" || v1alpha1.MarkOf(t.meta, v1alpha1.OverrideContentsMark) != "" {
		return ""
	}
	return fmt.Sprintf("note: %s is not deleted while it holds protected objects. To see all of them: kubectl holdfast why delete %s%s",
		t.where(), t, t.namespaceFlag())
}

// detailOf is what a mark says to people.
func detailOf(o *metav1.PartialObjectMetadata, mark string) string {
	if text, ok := o.Annotations[mark]; ok {
		return text
	}
	return o.Labels[mark]
}

// lookAt is the command that shows the protection that a mark names.
func lookAt(value string) string {
	if strings.HasSuffix(value, v1alpha1.SeveralProtections) {
		return "kubectl holdfast protections"
	}
	return "kubectl holdfast protections " + value
}

// askCommand asks for an override.
func askCommand(t target, contents bool) string {
	flag := ""
	if contents {
		flag = " --include-contents"
	}
	return fmt.Sprintf("kubectl holdfast override ask %s%s%s --reason WHY", t, t.namespaceFlag(), flag)
}
