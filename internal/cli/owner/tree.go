// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
)

// Tree is where a namespace stands in its tree, by its labels and annotations.
type Tree struct {
	// Above are the namespaces above it, the root first.
	Above []string `json:"above,omitempty"`
	// AnchorIn is the parent whose anchor made it.
	AnchorIn string `json:"anchorIn,omitempty"`
	// External is who else keeps its place.
	External string `json:"external,omitempty"`
}

// treeOf is nil for what stands in no tree, or is a tree of its own.
func treeOf(f *Facts) *Tree {
	if !f.ID.IsNamespace() {
		return nil
	}
	t := &Tree{AnchorIn: f.Meta.Annotations[hncv1alpha2.AnnotationSubnamespaceOf]}
	if by := f.Meta.Annotations[hncv1alpha2.AnnotationManagedBy]; by != hncv1alpha2.GroupName {
		t.External = by
	}
	depths := map[string]int{}
	for key, value := range f.Meta.Labels {
		name, isTree := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix)
		if depth, err := strconv.Atoi(value); isTree && err == nil && depth > 0 {
			depths[name] = depth
			t.Above = append(t.Above, name)
		}
	}
	slices.SortFunc(t.Above, func(a, b string) int { return cmp.Or(cmp.Compare(depths[b], depths[a]), cmp.Compare(a, b)) })
	if t.AnchorIn == "" && t.External == "" && len(t.Above) == 0 {
		return nil
	}
	return t
}

// text is the way from the root, and who says so.
func (t *Tree) text(name string) string {
	text := strings.Join(append(slices.Clone(t.Above), name), " > ")
	switch {
	case t.External != "":
		text += ", kept by " + t.External
	case t.AnchorIn != "":
		text += ", by the anchor in " + t.AnchorIn
	}
	return text
}

// originalOf is what an object says that it is a copy of; nil if it says nothing.
func originalOf(f *Facts) *Original {
	from, isCopy := f.Meta.Labels[hncv1alpha2.LabelInheritedFrom]
	if !isCopy || f.ID.Namespace == "" {
		return nil
	}
	ref := sync.ObjectRef(f.ID)
	ref.Namespace = from
	return &Original{ObjectRef: ref, State: f.Original}
}
