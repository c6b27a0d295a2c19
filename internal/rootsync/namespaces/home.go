// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// InTreeError is that the namespace of RootSyncs is below another one. The admins of that one are admins of it, too, and
// could act as the account of any RootSync.
type InTreeError struct {
	// Above is the namespace that it is below, and Anchored reports that an anchor there made it.
	Above    string
	Anchored bool
}

// Problem is what is wrong, and what follows.
func (e *InTreeError) Problem() string {
	return fmt.Sprintf("the namespace %s is below %s in a tree of namespaces, so that whoever administers %s could act as any RootSync: "+
		"nothing is synced until it is in no tree", object.SyncNamespace, e.Above, e.Above)
}

// Remedy is what to do.
func (e *InTreeError) Remedy() string {
	if e.Anchored {
		return fmt.Sprintf("delete the SubnamespaceAnchor %[1]s in %[2]s and the namespace, and apply config/namespaces/%[1]s.yaml", object.SyncNamespace, e.Above)
	}
	return fmt.Sprintf("remove its parent: kubectl hns set %s --root", object.SyncNamespace)
}

func (e *InTreeError) Error() string { return e.Problem() + ": " + e.Remedy() }

// Home checks the namespace of RootSyncs: it must not be below another one in a tree. An error is an *InTreeError.
func Home(o metav1.Object) error {
	if e := inTree(o); e != nil {
		return e
	}
	return nil
}

func inTree(o metav1.Object) *InTreeError {
	if parent := o.GetAnnotations()[hncv1alpha2.AnnotationSubnamespaceOf]; parent != "" {
		return &InTreeError{Above: parent, Anchored: true}
	}
	for _, key := range slices.Sorted(maps.Keys(o.GetLabels())) {
		above, isTree := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix)
		if isTree && above != o.GetName() {
			return &InTreeError{Above: above}
		}
	}
	return nil
}

// Below reports whether a Namespace is below another one in a tree, or below any if that is empty.
func Below(o metav1.Object, above string) bool {
	for key := range o.GetLabels() {
		name, isTree := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix)
		if isTree && name != o.GetName() && (above == "" || name == above) {
			return true
		}
	}
	return false
}
