// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// judgeHierarchy decides on a HierarchyConfiguration. Who gives it an owner lets the
// garbage collector delete it, so that is judged like a delete.
func judgeHierarchy(ctx context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	w, err := o.world()
	if err != nil {
		return answer{}, err
	}
	if req.Operation == admissionv1.Delete {
		return answer{Verdict: w.HierarchyConfiguration(req.Namespace, nil)}, nil
	}
	var before, after hncv1alpha2.HierarchyConfiguration
	if err := decode(req.Object.Raw, &after); err != nil {
		return answer{}, err
	}
	if len(req.OldObject.Raw) > 0 {
		if err := decode(req.OldObject.Raw, &before); err != nil {
			return answer{}, err
		}
	}
	if w, err = settled(ctx, o, w, req.Namespace, after.Spec.Parent); err != nil {
		return answer{}, err
	}
	v := w.HierarchyConfiguration(req.Namespace, &after.Spec)
	if v.Denied == nil && gainsOwner(before.OwnerReferences, after.OwnerReferences) {
		v = both(v, w.HierarchyConfiguration(req.Namespace, nil))
	}
	return answer{Verdict: v}, nil
}

func gainsOwner(before, after []metav1.OwnerReference) bool {
	return slices.ContainsFunc(after, func(a metav1.OwnerReference) bool {
		return !slices.ContainsFunc(before, func(b metav1.OwnerReference) bool { return a.UID == b.UID })
	})
}

// both is the verdict on two things that are asked for at once, the first of which may
// be done. What must be confirmed follows from the tree, so it is the same.
func both(a, b rules.Verdict) rules.Verdict {
	b.Authorize = append(slices.Clone(a.Authorize), b.Authorize...)
	if b.Confirm == "" {
		b.Confirm = a.Confirm
	}
	return b
}

// judgeAnchor decides on an anchor.
func judgeAnchor(ctx context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	w, err := o.world()
	if err != nil {
		return answer{}, err
	}
	var a hncv1alpha2.SubnamespaceAnchor
	if err := decode(rawOf(req), &a); err != nil {
		return answer{}, err
	}
	v := w.Anchor(rules.Operation(req.Operation), req.Namespace, a.Name, a.Spec)
	if req.Operation == admissionv1.Delete && v.Denied != nil {
		if w, err = cascading(ctx, o, w, a.Name); err != nil {
			return answer{}, err
		}
		v = w.Anchor(rules.Delete, req.Namespace, a.Name, a.Spec)
	}
	return answer{Verdict: v}, nil
}

// rawOf is the object, or for a delete the one that was.
func rawOf(req *admissionv1.AdmissionRequest) []byte {
	if req.Operation == admissionv1.Delete {
		return req.OldObject.Raw
	}
	return req.Object.Raw
}

// judgeNamespace decides on a namespace.
func judgeNamespace(ctx context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	w, err := o.world()
	if err != nil {
		return answer{}, err
	}
	name, metas := "", [2]rules.Meta{}
	for i, raw := range [][]byte{req.OldObject.Raw, req.Object.Raw} {
		if len(raw) == 0 {
			continue
		}
		var p metav1.PartialObjectMetadata
		if err := decode(raw, &p); err != nil {
			return answer{}, err
		}
		name, metas[i] = p.Name, rules.Meta{Labels: p.Labels, Annotations: p.Annotations}
	}
	v := w.Namespace(rules.Operation(req.Operation), name, metas[0], metas[1])
	if req.Operation == admissionv1.Delete && v.Denied != nil {
		if w, err = cascading(ctx, o, w, name); err != nil {
			return answer{}, err
		}
		v = w.Namespace(rules.Delete, name, metas[0], metas[1])
	}
	return answer{Verdict: v}, nil
}

// judgeObject decides on an object of a kind that is copied.
func judgeObject(_ context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	w, err := o.world()
	if err != nil {
		return answer{}, err
	}
	before, err := object(req.OldObject.Raw)
	if err != nil {
		return answer{}, err
	}
	after, err := object(req.Object.Raw)
	if err != nil {
		return answer{}, err
	}
	namespace := w.Tree.Get(req.Namespace)
	ending := namespace == nil || namespace.Terminating
	kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	return answer{Verdict: w.Object(kind, req.Namespace, before, after, ending)}, nil
}

// object reads one of any kind; nil if there is none.
func object(raw []byte) (*unstructured.Unstructured, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var content map[string]any
	if err := decode(raw, &content); err != nil {
		return nil, err
	}
	if content == nil {
		return nil, nil
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// judgeLabel adds the label that says that a namespace is managed, so that it has it
// from the start. Without an answer it gets the label a moment later.
func judgeLabel(_ context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	var p metav1.PartialObjectMetadata
	if err := decode(req.Object.Raw, &p); err != nil {
		return answer{}, err
	}
	w := rules.World{Tree: tree.New(o.Settings().Tree(false))}
	if p.Name == "" || !w.IncludedLabel(p.Name, rules.Meta{Labels: p.Labels}) {
		return answer{}, nil
	}
	const key, value = hncv1alpha2.LabelIncludedNamespace, hncv1alpha2.ValueTrue
	add := map[string]any{"op": "add", "path": "/metadata/labels/hnc.x-k8s.io~1included-namespace", "value": value}
	if len(p.Labels) == 0 {
		add["path"], add["value"] = "/metadata/labels", map[string]string{key: value}
	}
	patch, err := json.Marshal([]any{add})
	return answer{patch: patch}, err
}
