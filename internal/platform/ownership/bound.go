// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

const of = "of "

// binding begins the annotation with the claims on the Namespace of a UID. An annotation that begins with another UID,
// as on a Namespace that was restored from a backup, or with none has no effect.
func binding(uid types.UID) string { return of + string(uid) + separator }

// bound returns what the annotation of a Namespace says, without what binds it; false where it is not bound to it.
func bound(o metav1.Object) (claims string, ok bool) {
	text, ok := strings.CutPrefix(o.GetAnnotations()[v1alpha1.ClaimsAnnotation], binding(o.GetUID()))
	if !ok || o.GetUID() == "" {
		return "", false
	}
	return text, true
}

// Written reports whether claims are written on a Namespace, and bound to it.
func Written(o metav1.Object) bool {
	_, ok := bound(o)
	return ok
}

// Bound is Written as a CEL expression.
func Bound(object string) string {
	return object + ".metadata.?annotations[" + cel.String(v1alpha1.ClaimsAnnotation) + "].orValue('').startsWith(" + cel.String(of) + " + " +
		object + ".metadata.uid + " + cel.String(separator) + ")"
}
