// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"crypto/sha256"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// A RoleBinding names its Role and nothing else. In a descendant the Role of that name can be another one, with more
// rights, and Holdfast may bind any: who may write the binding would get rights there that they do not hold.

// Role is the Role of a name in a namespace, as the informer's cache has it. The zero Role does not exist.
type Role struct {
	// Origin is the namespace of the source if the Role is a copy, otherwise its own.
	Origin string
	// Rules is a digest of its rules. Labels and annotations do not count, since a webhook may add some to each copy.
	Rules string
}

// Roles returns the Role of a name in a namespace. A copy that is being deleted counts as deleted.
type Roles func(name, namespace string) Role

// Reason is why there is no copy of a RoleBinding although its source allows one.
type Reason string

const (
	// RoleMissing means that the Role does not exist in the namespace of the RoleBinding.
	RoleMissing Reason = "RoleMissing"
	// RoleNotCopied means that the Role is not to be copied to the descendant.
	RoleNotCopied Reason = "RoleNotCopied"
	// RoleDiffers means that the descendant has another Role of that name, or is to have a copy of another one.
	RoleDiffers Reason = "RoleDiffers"
	// RolePending means that the copy of the Role is still to be created.
	RolePending Reason = "RolePending"
	// RoleOutdated means that the copy of the Role has other rules than the Role has in the namespace of the RoleBinding.
	// An existing copy of the RoleBinding stays, since that is so each time the Role changes.
	RoleOutdated Reason = "RoleOutdated"
)

// RoleKey returns the Key of a Role.
func RoleKey(name string) Key { return Key{RoleKind, name} }

// BoundRole returns the name of the Role that a RoleBinding refers to; "" for one that refers to a ClusterRole, and for
// objects of other kinds.
func BoundRole(kind schema.GroupKind, u *unstructured.Unstructured) string {
	if kind != RoleBindingKind {
		return ""
	}
	if of, _, _ := unstructured.NestedString(u.Object, "roleRef", "kind"); of != RoleKind.Kind {
		return ""
	}
	name, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
	return name
}

// RulesOf returns the digest of the rules of a Role; "" for objects of other kinds.
func RulesOf(kind schema.GroupKind, u *unstructured.Unstructured) string {
	if kind != RoleKind {
		return ""
	}
	var text []byte
	if rules, _ := u.Object["rules"].([]any); len(rules) > 0 {
		text, _ = json.Marshal(rules) // what was decoded from JSON can be encoded
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// bind decides whether the copy of a RoleBinding that refers to a Role grants in a namespace what its source grants. It
// does if the Role there is, and is to stay, the copy of what the source refers to, with the same rules.
func (s *Sources) bind(t *tree.Tree, source *Source, namespace string, roles Roles) Verdict {
	meant, there := roles(source.Role, source.Namespace), roles(source.Role, namespace)
	decided := s.origin(t, source.Role, namespace)
	withheld := func(r Reason) Verdict { return Verdict{Action: Remove, Source: source, Reason: r} }
	switch {
	case meant.Origin == "":
		return withheld(RoleMissing)
	case decided == "":
		return withheld(RoleNotCopied)
	case decided != meant.Origin:
		return withheld(RoleDiffers)
	case there.Origin == "":
		return withheld(RolePending)
	case there.Origin != meant.Origin:
		return withheld(RoleDiffers)
	case there.Rules != meant.Rules:
		return Verdict{Action: Leave, Source: source, Reason: RoleOutdated}
	case source.Held:
		return Verdict{Action: Leave, Source: source}
	}
	return Verdict{Action: Copy, Source: source}
}

// origin returns the namespace of the source of the Role that is to be copied to a namespace; "" if none is.
func (s *Sources) origin(t *tree.Tree, name, namespace string) string {
	o := t.Get(namespace)
	if o == nil {
		return ""
	}
	k := RoleKey(name)
	if source := s.winner(t, k, namespace, s.rules.Mode(RoleKind), o.Labels); source != nil {
		return source.Namespace
	}
	return ""
}

// Unsafe reports whether a copy of a RoleBinding that is to be removed grants, or soon grants, what its source does not:
// the Role that it refers to is not a copy of the one that it was copied with, or will not be. The source is nil if there
// is none any more. While the Role that it was copied with is there, it is like any other copy that is to be removed.
func (s *Sources) Unsafe(t *tree.Tree, name, namespace string, source *Source, roles Roles) bool {
	there, decided := roles(name, namespace).Origin, s.origin(t, name, namespace)
	switch {
	case there == "" || there == namespace:
		return true
	case decided != "" && decided != there:
		return true
	case source == nil:
		return false
	}
	meant := roles(name, source.Namespace).Origin
	return meant != there && (meant != "" || decided != "")
}
