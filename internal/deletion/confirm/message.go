// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
)

// describe says what speaks against a deletion after a look, as the rest of a
// sentence; "" if nothing does.
func describe(o *metav1.PartialObjectMetadata, r Result) string {
	if len(r.Found) > 0 {
		h := contents.NewHolding(r.Found)
		text := h.Describe(o.Name)
		if r.More {
			text = "at least " + text
		}
		return " because of what hangs below it: " + text + ". To see all of it: kubectl holdfast why delete " + resourceOf(o) + " " + o.Name
	}
	if len(r.Failed) == 0 {
		return ""
	}
	f := r.Failed[0]
	text := fmt.Sprintf(", because %s could not be looked at: %s", f.Resource, f.Err)
	if more := len(r.Failed) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more kinds)", more)
	}
	return text + unchecked(o)
}

// unchecked is the way past. The objects of a definition have nothing else to protect them then.
func unchecked(o *metav1.PartialObjectMetadata) string {
	text := fmt.Sprintf(". To delete it all the same, unchecked: kubectl annotate %s %s %s=%s",
		resourceOf(o), o.Name, v1alpha1.DeleteUncheckedAnnotation, o.Name)
	if resourceOf(o) == "crd" {
		text += fmt.Sprintf("; that needs the RBAC verb %q on %s.%s, cluster-wide", v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
	}
	return text
}

func resourceOf(o *metav1.PartialObjectMetadata) string {
	if o.Kind == "CustomResourceDefinition" {
		return "crd"
	}
	return "namespace"
}

// warningLimit is what API servers promise to pass on of a warning.
const warningLimit = 256

// leftOut warns of kinds that nobody looked at.
func leftOut(r Result) []string {
	if len(r.LeftOut) == 0 {
		return nil
	}
	names := make([]string, 0, len(r.LeftOut))
	for _, k := range r.LeftOut {
		names = append(names, k.String())
	}
	text := "Holdfast did not look at what extension API servers serve: " + strings.Join(names, ", ")
	if len(text) > warningLimit {
		text = text[:warningLimit-len(" …")] + " …"
	}
	return []string{text}
}
