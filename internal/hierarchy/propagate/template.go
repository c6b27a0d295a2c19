// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Template makes the copies of one source as JSON. What they have in common is encoded once.
type Template struct {
	name                string
	labels, annotations map[string]string
	// content is the object without metadata, as fields that follow others.
	content []byte
}

// NewTemplate makes the Template of a source.
func (r Rules) NewTemplate(source *unstructured.Unstructured) (*Template, error) {
	c := r.Copied(source, "")
	t := &Template{name: c.GetName(), labels: c.GetLabels(), annotations: c.GetAnnotations()}
	for _, field := range slices.Sorted(maps.Keys(c.Object)) {
		if field == "metadata" {
			continue
		}
		var err error
		if t.content, err = appendField(t.content, field, c.Object[field]); err != nil {
			return nil, fmt.Errorf("encode %s: %w", t.name, err)
		}
	}
	return t, nil
}

func appendField(to []byte, field string, value any) ([]byte, error) {
	key, err := json.Marshal(field)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return slices.Concat(to, []byte{','}, key, []byte{':'}, text), nil
}

// Copy is the body of a request that makes a copy. In which namespace, its URL
// says.
func (t *Template) Copy() ([]byte, error) { return t.body(metav1.ObjectMeta{Name: t.name}, nil) }

// Trial is the body of one that tries to make a copy of any name.
func (t *Template) Trial() ([]byte, error) {
	return t.body(metav1.ObjectMeta{GenerateName: "holdfast-trial-"}, nil)
}

// Over is the body of a request that gives a copy's content to an object that is
// there. What identifies that, and what others have put on it, stays: finalizers,
// owners, the annotations of controllers, the marks of Holdfast, and a status if it is
// given one.
func (t *Template) Over(have metav1.Object, status any) ([]byte, error) {
	labels, annotations := Staying(have)
	return t.body(metav1.ObjectMeta{
		Name: t.name, UID: have.GetUID(), ResourceVersion: have.GetResourceVersion(),
		Finalizers: have.GetFinalizers(), OwnerReferences: have.GetOwnerReferences(),
		Labels: labels, Annotations: annotations,
	}, status)
}

// with is the labels or annotations of a copy, beside those that stay.
func with(stay, copied map[string]string) map[string]string {
	if stay == nil {
		return copied
	}
	maps.Copy(stay, copied)
	return stay
}

func (t *Template) body(meta metav1.ObjectMeta, status any) ([]byte, error) {
	meta.Labels, meta.Annotations = with(meta.Labels, t.labels), with(meta.Annotations, t.annotations)
	head, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of %s: %w", t.name, err)
	}
	out := slices.Concat([]byte(`{"metadata":`), head, t.content)
	if status != nil {
		if out, err = appendField(out, "status", status); err != nil {
			return nil, fmt.Errorf("encode the status of %s: %w", t.name, err)
		}
	}
	return append(out, '}'), nil
}
