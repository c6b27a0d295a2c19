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

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
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
	return again(ctx, o, req, v, a.Name, func(w rules.World) rules.Verdict {
		return w.Anchor(rules.Delete, req.Namespace, a.Name, a.Spec)
	})
}

// again judges a refused deletion a second time once the informer has that the namespace allows cascading deletion, if
// it does. "kubectl hns delete -a" allows it and deletes right after.
func again(ctx context.Context, o *Options, req *admissionv1.AdmissionRequest, v rules.Verdict, namespace string, judge func(rules.World) rules.Verdict) (answer, error) {
	if req.Operation != admissionv1.Delete || v.Denied == nil {
		return answer{Verdict: v}, nil
	}
	w, err := waitCascading(ctx, o, namespace)
	if err != nil {
		return answer{}, err
	}
	return answer{Verdict: judge(w)}, nil
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
	return again(ctx, o, req, v, name, func(w rules.World) rules.Verdict {
		return w.Namespace(rules.Delete, name, metas[0], metas[1])
	})
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
