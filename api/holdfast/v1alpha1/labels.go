// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	// DeletionProtectedLabel protects the object that carries it from deletion.
	// It is the strict one of the three labels that Holdfast reads: taking it
	// away needs UnprotectVerb, and a value that Holdfast does not know
	// protects as ProtectAlways does. An empty value does not protect.
	DeletionProtectedLabel = "holdfast.dev/deletion-protected"

	// KarmadaDeletionProtectedLabel is the label of seed 001 and of Karmada.
	// Only the exact value ProtectAlways protects, as upstream.
	KarmadaDeletionProtectedLabel = "resourcetemplate.karmada.io/deletion-protected"

	// KruiseDeletionProtectionLabel is the label of OpenKruise. Only the exact
	// values ProtectAlways and, on the kinds that it has a meaning for,
	// ProtectCascading protect.
	KruiseDeletionProtectionLabel = "policy.kruise.io/delete-protection"

	// ProtectAlways is the label value that refuses every deletion.
	ProtectAlways = "Always"

	// ProtectCascading is the label value that refuses the deletion of an object
	// while it is in use; see ModeCascading for what that is.
	ProtectCascading = "Cascading"
)

const (
	// UnprotectVerb is the RBAC verb, on UnprotectResource in the group
	// GroupName, that lets a user take protection away. It is asked in the
	// namespace of the object, and cluster-wide for Namespaces and
	// cluster-scoped objects.
	UnprotectVerb = "unprotect"

	// UnprotectResource is the resource that UnprotectVerb is granted on.
	UnprotectResource = "resourcedeletionprotections"

	// OperateVerb is the RBAC verb, on OperateResource in the group GroupName, that
	// lets a user do what gives Holdfast's identity or rights to somebody: make
	// tokens of its accounts, run pods in its namespace or get into them, bind its
	// roles. It is asked cluster-wide, beside the right to do it.
	OperateVerb = "operate"

	// OperateResource is the resource that OperateVerb is granted on.
	OperateResource = "holdfasts"
)

// Marks are labels that Holdfast writes. They tell the policies what a policy cannot look up itself. The annotation
// of the same key says more, for people; nothing is decided by it. See LabelsAnnotation for the one that policies read.
//
// Marks are bound to their object: they count only where MarkedLabel has the object's UID as its value, so that a
// copy, an export or a restored backup, which has another UID, carries labels that protect and free nothing. Only an
// UPDATE that changes a bound mark needs a right. See MarkOf.
const (
	// ProtectedByMark is on what a ResourceDeletionProtection with mode Always
	// selects. Its value is the protection's name or, where there are more, their
	// number followed by SeveralProtections.
	ProtectedByMark = "holdfast.dev/protected-by"

	// ProtectedWhileUsedByMark is the same for mode Cascading.
	ProtectedWhileUsedByMark = "holdfast.dev/protected-while-used-by"

	// HoldsProtectedMark is on a Namespace, a CustomResourceDefinition or an owner
	// below which something protected hangs, and on a claim whose volume is protected
	// and would be deleted with it.
	HoldsProtectedMark = "holdfast.dev/holds-protected"

	// InUseMark is on a Service that has ready endpoints and may not be deleted
	// while it has.
	InUseMark = "holdfast.dev/in-use"

	// OverrideMark is on the target of an active DeletionOverride. Its value is
	// the override's name.
	OverrideMark = "holdfast.dev/deletion-override"

	// OverrideContentsMark is on it as well when the override includes the
	// contents.
	OverrideContentsMark = "holdfast.dev/deletion-override-contents"

	// MarkedLabel is on every object that carries a mark, so that a watch finds all of them. Its value is the
	// object's metadata.uid, which binds the marks to the object.
	MarkedLabel = "holdfast.dev/marked"

	// SeveralProtections ends the value of a mark that stands for several
	// protections. No protection can have such a name.
	SeveralProtections = "_protections"

	// MarkSet is the value of a mark that has nothing else to say.
	MarkSet = "true"
)

// Marks are the keys of all marks.
var Marks = []string{
	ProtectedByMark, ProtectedWhileUsedByMark, HoldsProtectedMark, InUseMark, OverrideMark, OverrideContentsMark,
}

// Marked reports whether the marks of an object are bound to it.
func Marked(o metav1.Object) bool {
	return o.GetUID() != "" && o.GetLabels()[MarkedLabel] == string(o.GetUID())
}

// MarkOf returns the value of a mark that is bound to the object, "" where it carries none.
func MarkOf(o metav1.Object, key string) string {
	if !Marked(o) {
		return ""
	}
	return o.GetLabels()[key]
}

// SelectedMarks are the marks on what a ResourceDeletionProtection selects.
var SelectedMarks = []string{ProtectedByMark, ProtectedWhileUsedByMark}

// LabelsAnnotation returns the annotation beside one of SelectedMarks that has the keys of the labels by which protections
// select the object, separated by commas. An UPDATE that changes one of these labels takes the object out of a protection,
// and needs UnprotectVerb. The policies that guard the marks guard the annotation too.
func LabelsAnnotation(mark string) string { return mark + "-labels" }

// HasSubnamespacesMark is on a namespace that has subnamespaces, so that the API
// server can tell it from others while Holdfast is down. Holdfast alone writes it, for
// trees of namespaces; it is none of Marks, which are for deletions.
const HasSubnamespacesMark = "holdfast.dev/has-subnamespaces"

// RestoredCopyAnnotation is on an object that a user created with the label of a copy in a tree of namespaces, as from a
// backup. Its value is the namespace of the source. The object is not copied to descendants, and unlike other objects it
// does not keep a copy from taking its place.
const RestoredCopyAnnotation = "holdfast.dev/restored-copy-of"

const (
	// BypassVerb is the RBAC verb, on a ResourceDeletionProtection by its name,
	// that lets a user delete what it protects. A role that allows every verb does
	// not count.
	BypassVerb = "bypass"

	// DeleteUncheckedAnnotation on a Namespace or CustomResourceDefinition, with
	// the object's own name as its value, lets it be deleted without Holdfast
	// having looked at what hangs below it. Where the object carries
	// HoldsProtectedMark, the deletion then needs UnprotectVerb. On a
	// CustomResourceDefinition setting it needs the verb too, and so does any deletion.
	DeleteUncheckedAnnotation = "holdfast.dev/delete-unchecked"

	// AnchorName is the ClusterRole that owns every admission object of Holdfast.
	AnchorName = "holdfast-anchor"

	// StopAnnotation on the ClusterRole AnchorName, with its name as the value, permits its deletion, which stops Holdfast.
	StopAnnotation = "holdfast.dev/stop"

	// ProtectByDefaultLabel on a Namespace, with the value ProtectAlways, protects
	// the Namespace and what people made in it, of the kinds that the annotation of
	// the same key lists, as in "deployments.apps, services". It is alpha: feature
	// gate DeletionProtectionByDefault.
	ProtectByDefaultLabel = "holdfast.dev/protect-by-default"
)

// ClaimsAnnotation on a Namespace lists who claims it, how and since when. It is
// written by Holdfast alone. Without it, what other marks on the Namespace say
// counts by itself.
const ClaimsAnnotation = "holdfast.dev/claims"

// InheritedPodSecurityAnnotation on a subnamespace has it follow the PodSecurity labels of its parent. Its value is those
// that it has from there, as in "enforce=restricted,warn=baseline": a label with another value stays. Subnamespaces that
// Holdfast creates have it.
const InheritedPodSecurityAnnotation = "holdfast.dev/inherited-pod-security"

// LetCopiesGoAnnotation on the HNCConfiguration, with the word that its condition
// asks for as the value, lets copies go that Holdfast keeps because too many of
// them would go at once. The word is another one each time.
const LetCopiesGoAnnotation = "holdfast.dev/let-copies-go"
