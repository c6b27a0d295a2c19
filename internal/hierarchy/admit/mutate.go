// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// judgeLabel adds the label that says that a namespace is managed, so that it has it from the start. If no replica
// answers, the reconciler adds it a moment later.
func judgeLabel(_ context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	u, p, err := mutable(req)
	if err != nil || p.Name == "" || !o.treeless().IncludedLabel(p.Name, rules.Meta{Labels: p.Labels}) {
		return answer{}, err
	}
	u.SetLabels(with(p.Labels, hncv1alpha2.LabelIncludedNamespace, hncv1alpha2.ValueTrue))
	return answer{mutated: u}, nil
}

// judgeRestoredNamespace removes labels from a new namespace that only Holdfast may write, so that a backup can be
// restored, and nothing that selects by these labels selects the namespace before its place in a tree is known. The
// reconciler writes them again where the tree has the namespace. If no replica answers, the policy refuses the namespace.
func judgeRestoredNamespace(_ context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	u, p, err := mutable(req)
	if err != nil {
		return answer{}, err
	}
	drop := o.treeless().RestoredLabels(p.Name, p.Labels)
	if len(drop) == 0 {
		return answer{}, nil
	}
	for _, key := range drop {
		delete(p.Labels, key)
	}
	u.SetLabels(p.Labels)
	return answer{mutated: u, warnings: []string{fmt.Sprintf(textRestoredNamespace, strings.Join(drop, ", "))}}, nil
}

// judgeRestoredObject replaces the label of a copy that a user creates, as from a backup, by an annotation: if an ancestor
// has a source of its name, the reconciler copies that over the object, and then it is a copy again. If no replica
// answers, the policy refuses the object.
func judgeRestoredObject(_ context.Context, _ *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	u, p, err := mutable(req)
	if err != nil {
		return answer{}, err
	}
	from := p.Labels[hncv1alpha2.LabelInheritedFrom]
	delete(p.Labels, hncv1alpha2.LabelInheritedFrom)
	if p.Labels[hncv1alpha2.LabelManagedBy] == hncv1alpha2.ManagedBy {
		delete(p.Labels, hncv1alpha2.LabelManagedBy)
	}
	u.SetLabels(p.Labels)
	u.SetAnnotations(with(p.Annotations, v1alpha1.RestoredCopyAnnotation, from))
	return answer{mutated: u, warnings: []string{fmt.Sprintf(textRestoredObject, hncv1alpha2.LabelInheritedFrom, v1alpha1.RestoredCopyAnnotation)}}, nil
}

// Warnings about what a webhook changed.
const (
	textRestoredNamespace = "created without the labels %s: Holdfast writes them when the namespace is in a tree"
	textRestoredObject    = "created without the label %s: it becomes a copy again when an ancestor of its namespace has an object of its " +
		"name to copy. Until then it has the annotation %s, and is not copied itself; remove the annotation to keep it as it is"
)

// mutable returns the object of a request, to change it, and its metadata.
func mutable(req *admissionv1.AdmissionRequest) (*unstructured.Unstructured, *metav1.PartialObjectMetadata, error) {
	u, p := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	return u, p, errors.Join(decode(req.Object.Raw, &u.Object), decode(req.Object.Raw, p))
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// treeless returns a World that knows the settings and no tree.
func (o *Options) treeless() rules.World {
	s := o.Settings()
	return rules.World{Tree: tree.New(s.Tree(false)), Excluded: s.Excluded}
}
