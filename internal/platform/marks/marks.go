// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// fieldManager owns the marks, and nothing else does.
const fieldManager = "holdfast-marks"

// detailLimit bounds the text of an annotation, in bytes.
const detailLimit = 1024

// Mark is the value of a mark and what it says to people.
type Mark struct {
	Value  string
	Detail string
}

// Set is the marks of an object, by key.
type Set map[string]Mark

// Of reads the marks that an object carries.
func Of(o *metav1.PartialObjectMetadata) Set {
	s := Set{}
	for _, key := range v1alpha1.Marks {
		if value, ok := o.Labels[key]; ok {
			s[key] = Mark{Value: value, Detail: o.Annotations[key]}
		}
	}
	return s
}

// Any says whether an object carries anything that looks like a mark, be it only
// the label that all marked objects carry.
func Any(o *metav1.PartialObjectMetadata) bool {
	_, marked := o.Labels[v1alpha1.MarkedLabel]
	return marked || len(Of(o)) > 0
}

// Equal says whether two sets are the same.
func (s Set) Equal(o Set) bool { return maps.Equal(s, o) }

// SameVerdict says whether two sets let policies decide the same: what they say to
// people may differ.
func (s Set) SameVerdict(o Set) bool {
	return maps.EqualFunc(s, o, func(a, b Mark) bool { return a.Value == b.Value })
}

// Detail makes a text fit for an annotation that a policy quotes: one line, and
// not too long.
func Detail(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(text) > detailLimit {
		text = strings.ToValidUTF8(text[:detailLimit], "") + " …"
	}
	return text
}

// Writer writes marks.
type Writer struct {
	client metadata.Interface
}

// NewWriter makes a Writer.
func NewWriter(c metadata.Interface) *Writer { return &Writer{client: c} }

// Write gives the object of a UID exactly these marks, by one server-side apply
// of nothing but them. An object that is gone, or that has another UID, is an
// error: NotFound, or one that uid.Changed knows.
func (w *Writer) Write(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, s Set) (*metav1.PartialObjectMetadata, error) {
	return w.apply(ctx, k, o, "", s)
}

// WriteUnchanged does what Write does if the object is still as it is here. If it
// has changed since, that is an error: a conflict.
func (w *Writer) WriteUnchanged(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, s Set) (*metav1.PartialObjectMetadata, error) {
	return w.apply(ctx, k, o, o.ResourceVersion, s)
}

// apply writes to whatever version there is if it is given none.
func (w *Writer) apply(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, version string, s Set) (*metav1.PartialObjectMetadata, error) {
	labels, annotations := map[string]string{}, map[string]string{}
	for key, m := range s {
		labels[key] = m.Value
		if m.Detail != "" {
			annotations[key] = m.Detail
		}
	}
	if len(s) > 0 {
		labels[v1alpha1.MarkedLabel] = v1alpha1.MarkSet
	}
	meta := map[string]any{"name": o.Name, "namespace": o.Namespace, "uid": o.UID, "labels": labels, "annotations": annotations}
	if version != "" {
		meta["resourceVersion"] = version
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": k.GroupVersionKind().GroupVersion().String(),
		"kind":       k.Kind,
		"metadata":   meta,
	})
	if err != nil {
		return nil, fmt.Errorf("encode marks: %w", err)
	}
	writes.WithLabelValues().Inc()
	out, err := w.client.Resource(k.Resource).Namespace(o.Namespace).Patch(ctx, o.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)})
	if err != nil {
		return nil, fmt.Errorf("mark %s/%s: %w", k.GroupResource(), o.Name, err)
	}
	if left := Of(out); len(left) > len(s) { // written by somebody else, before there was a policy
		return w.remove(ctx, k, out, left, s)
	}
	return out, nil
}

// remove takes marks away that this field manager does not own.
func (w *Writer) remove(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, left, want Set) (*metav1.PartialObjectMetadata, error) {
	labels := map[string]any{}
	for _, key := range slices.Collect(maps.Keys(left)) {
		if _, ok := want[key]; !ok {
			labels[key] = nil
		}
	}
	if len(want) == 0 {
		labels[v1alpha1.MarkedLabel] = nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.UID, "labels": labels}})
	if err != nil {
		return nil, fmt.Errorf("encode marks: %w", err)
	}
	writes.WithLabelValues().Inc()
	out, err := w.client.Resource(k.Resource).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, fmt.Errorf("unmark %s/%s: %w", k.GroupResource(), o.Name, err)
	}
	return out, nil
}
