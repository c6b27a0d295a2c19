// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/uid"
)

// fieldManager owns the marks, and nothing else does.
const fieldManager = "holdfast-marks"

// detailLimit bounds the text of an annotation, in bytes.
const detailLimit = 1024

// Mark is the value of a mark and what it says to people.
type Mark struct {
	Value  string
	Detail string
	// Labels are the keys of the labels by which the object is selected, separated by commas; see v1alpha1.LabelsAnnotation.
	Labels string
}

// Set is the marks of an object, by key.
type Set map[string]Mark

// Of reads the marks that are bound to an object.
func Of(o *metav1.PartialObjectMetadata) Set {
	s := Set{}
	if !v1alpha1.Marked(o) {
		return s
	}
	for _, key := range v1alpha1.Marks {
		if value, ok := o.Labels[key]; ok {
			s[key] = Mark{Value: value, Detail: o.Annotations[key]}
		}
	}
	for _, key := range v1alpha1.SelectedMarks {
		if m, ok := s[key]; ok {
			m.Labels = o.Annotations[v1alpha1.LabelsAnnotation(key)]
			s[key] = m
		}
	}
	return s
}

// Stray reports whether an object carries marks that are not bound to it: those of an object that it was copied or
// restored from, or that an operator has copied onto it. They protect and free nothing.
func Stray(o *metav1.PartialObjectMetadata) bool {
	_, marked := o.Labels[v1alpha1.MarkedLabel]
	return marked && !v1alpha1.Marked(o)
}

// Any reports whether an object carries the label that binds marks, whatever its value.
func Any(o *metav1.PartialObjectMetadata) bool {
	_, marked := o.Labels[v1alpha1.MarkedLabel]
	return marked
}

// Equal says whether two sets are the same.
func (s Set) Equal(o Set) bool { return maps.Equal(s, o) }

// SameVerdict says whether two sets let policies decide the same: what they say to
// people may differ.
func (s Set) SameVerdict(o Set) bool {
	return maps.EqualFunc(s, o, func(a, b Mark) bool { return a.Value == b.Value && a.Labels == b.Labels })
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

// Write patches an object so that it carries exactly these marks, bound to its UID. The patch removes every other mark:
// a label that a user set before the object was marked must not be bound along with the marks. Write returns NotFound
// for an object that was deleted, and an error that uid.Changed recognizes for one that was created again since.
func (w *Writer) Write(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, s Set) (*metav1.PartialObjectMetadata, error) {
	return w.patch(ctx, k, o, "", s)
}

// WriteUnchanged does what Write does if the object is still as it is here. If it
// has changed since, that is an error: a conflict.
func (w *Writer) WriteUnchanged(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, s Set) (*metav1.PartialObjectMetadata, error) {
	return w.patch(ctx, k, o, o.ResourceVersion, s)
}

// errNoRoom is that an object carries its marks without what they say, because a user has filled its annotations.
var errNoRoom = errors.New("its annotations leave no room for what its marks say; it carries them without")

// patch writes to whatever version there is if it is given none. Where the annotations of the object have no room left, it
// writes the labels alone, which policies decide by, and returns an error.
func (w *Writer) patch(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, version string, s Set) (*metav1.PartialObjectMetadata, error) {
	out, err := w.send(ctx, k, o, version, s)
	if apierrors.IsInvalid(err) && !uid.Changed(err) && s.annotated() {
		if _, err := w.send(ctx, k, o, version, s.silent()); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("mark %s/%s: %w", k.GroupResource(), o.Name, errNoRoom)
	}
	return out, err
}

// annotated reports whether a mark says anything beside its label.
func (s Set) annotated() bool {
	for _, m := range s {
		if m.Detail != "" || m.Labels != "" {
			return true
		}
	}
	return false
}

// silent returns the labels of the marks alone.
func (s Set) silent() Set {
	out := Set{}
	for key, m := range s {
		out[key] = Mark{Value: m.Value}
	}
	return out
}

func (w *Writer) send(ctx context.Context, k inventory.Kind, o *metav1.PartialObjectMetadata, version string, s Set) (*metav1.PartialObjectMetadata, error) {
	labels, annotations := map[string]any{v1alpha1.MarkedLabel: nil}, map[string]any{}
	for _, key := range v1alpha1.Marks {
		labels[key], annotations[key] = nil, nil
	}
	for _, key := range guarded {
		annotations[key] = nil
	}
	for key, m := range s {
		labels[key], labels[v1alpha1.MarkedLabel] = m.Value, o.UID
		if m.Detail != "" {
			annotations[key] = m.Detail
		}
		if m.Labels != "" {
			annotations[v1alpha1.LabelsAnnotation(key)] = m.Labels
		}
	}
	meta := map[string]any{"uid": o.UID, "labels": labels, "annotations": annotations}
	if version != "" {
		meta["resourceVersion"] = version
	}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return nil, fmt.Errorf("encode marks: %w", err)
	}
	writes.WithLabelValues().Inc()
	out, err := w.client.Resource(k.Resource).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		return nil, fmt.Errorf("mark %s/%s: %w", k.GroupResource(), o.Name, err)
	}
	return out, nil
}
