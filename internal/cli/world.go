// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	matching "github.com/holdfast-dev/holdfast/internal/deletion/selection"
)

// The controllers that delete what hangs below something.
const (
	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	volumeController    = "system:serviceaccount:kube-system:persistent-volume-binder"
)

// world is the objects that a forecast is made of: those of files, or those that
// were found in the cluster. Each carries the marks that Holdfast would write, so
// that the rules decide about it as the API server would.
type world struct {
	enforcement enforcement
	rules       policy.Rules
	protections *matching.Set
	// namespaces are the labels of the namespaces that are known.
	namespaces map[string]map[string]string
	objects    []target
	byUID      map[types.UID]target
	index      *contents.Index
}

// newWorld marks the objects. They must have UIDs.
func newWorld(e enforcement, protections *matching.Set, namespaces map[string]map[string]string, found []target) *world {
	w := &world{
		enforcement: e,
		rules:       e.rules(),
		protections: protections,
		namespaces:  map[string]map[string]string{},
		byUID:       map[types.UID]target{},
		index:       contents.NewIndex(),
	}
	maps.Copy(w.namespaces, namespaces)
	for _, t := range found {
		if t.kind.GroupResource() == namespacesKind.GroupResource() {
			w.namespaces[t.meta.Name] = t.meta.Labels
		}
	}
	for _, t := range found {
		if _, ok := w.byUID[t.meta.UID]; ok {
			continue // two API groups serve it
		}
		t = w.selected(t)
		w.add(t)
		w.index.Put(contents.Object{
			Ref:       contents.Ref{Resource: t.kind.GroupResource(), Namespace: t.meta.Namespace, Name: t.meta.Name},
			UID:       t.meta.UID,
			Owners:    ownersOf(t.meta),
			Protected: w.stays(t),
			Claim:     t.claim,
		})
	}
	for i, t := range w.objects {
		w.objects[i] = w.holding(t)
		w.byUID[t.meta.UID] = w.objects[i]
	}
	return w
}

func (w *world) add(t target) {
	w.objects = append(w.objects, t)
	w.byUID[t.meta.UID] = t
}

func ownersOf(o *metav1.PartialObjectMetadata) []types.UID {
	out := make([]types.UID, 0, len(o.OwnerReferences))
	for _, r := range o.OwnerReferences {
		out = append(out, r.UID)
	}
	return out
}

// selected adds the marks of the protections that select an object and have not
// marked it yet.
func (w *world) selected(t target) target {
	byMode := map[v1alpha1.ProtectionMode][]*matching.Protection{}
	for _, p := range w.selecting(t) {
		byMode[p.Mode] = append(byMode[p.Mode], p)
	}
	t = marked(t, v1alpha1.ProtectedByMark, byMode[v1alpha1.ModeAlways])
	return marked(t, v1alpha1.ProtectedWhileUsedByMark, byMode[v1alpha1.ModeCascading])
}

// selecting are the protections that select an object.
func (w *world) selecting(t target) []*matching.Protection {
	return w.protections.Match(t.kind.groupKind(), t.meta, w.namespaces[t.meta.Namespace])
}

func marked(t target, mark string, by []*matching.Protection) target {
	if len(by) == 0 || v1alpha1.MarkOf(t.meta, mark) != "" {
		return t
	}
	return withMark(t, mark, matching.Value(by), matching.Detail(by))
}

func withMark(t target, mark, value, detail string) target {
	t.meta = t.meta.DeepCopy()
	if !v1alpha1.Marked(t.meta) { // what it carries is another object's
		for _, key := range v1alpha1.Marks {
			delete(t.meta.Labels, key)
		}
		metav1.SetMetaDataLabel(&t.meta.ObjectMeta, v1alpha1.MarkedLabel, string(t.meta.UID))
	}
	metav1.SetMetaDataLabel(&t.meta.ObjectMeta, mark, value)
	metav1.SetMetaDataAnnotation(&t.meta.ObjectMeta, mark, detail)
	return t
}

// holding adds the mark of what hangs below an object and has not marked it yet.
func (w *world) holding(t target) target {
	var h contents.Holding
	ns := t.meta.Namespace
	switch t.kind.GroupResource() {
	case namespacesKind.GroupResource():
		h, ns = w.index.InNamespace(t.meta.Name), t.meta.Name
	case crdsKind.GroupResource():
		h = w.index.OfResource(schema.ParseGroupResource(t.meta.Name))
	default:
		h = w.index.Below(t.meta.UID, ns)
	}
	if h.Count == 0 || v1alpha1.MarkOf(t.meta, v1alpha1.HoldsProtectedMark) != "" {
		return t
	}
	return withMark(t, v1alpha1.HoldsProtectedMark, v1alpha1.MarkSet, h.Describe(ns))
}

// stays says whether an object is protected in its own right, so that it is in
// the way of what it hangs below.
func (w *world) stays(t target) bool {
	if policy.LeftToControllers(t.kind.GroupResource(), t.meta) {
		return false
	}
	return slices.ContainsFunc(w.rules.Keys, func(k policy.Key) bool {
		return k.Mark != policy.MarkContents && w.effect(t, k).protects()
	})
}

func (w *world) effect(t target, k policy.Key) effect {
	r := t.kind.GroupResource()
	return effectOf(w.enforcement, k, r, t.meta, placeOf(r, t.meta, w.namespaces[t.meta.Namespace]))
}

// refusals are what the rules have against a controller's deleting an object,
// and enforce.
func (w *world) refusals(t target, controller string, released bool) []policy.Finding {
	verdict := w.rules.Decide(policy.Request{
		Operation: admissionv1.Delete,
		Resource:  t.kind.GroupResource(),
		Namespace: t.meta.Namespace,
		OldObject: t.meta,
		Used:      t.use != notInUse,
		Released:  released,
		User:      controller,
	})
	return slices.DeleteFunc(verdict, func(f policy.Finding) bool { return f.WarnOnly || !w.effect(t, f.Key).protects() })
}

// because says in a few words what a finding is about.
func because(t target, k policy.Key) string {
	detail := detailOf(t.meta, k.Label)
	switch k.Mark {
	case policy.MarkProtection:
		return "protected by ResourceDeletionProtection " + detail
	case policy.MarkWhileUsed:
		return "protected" + policy.WhileUsed + " by ResourceDeletionProtection " + detail
	case policy.MarkContents:
		return "holds " + detail
	}
	text := "protected"
	if k.WhileUsed(t.kind.GroupResource(), k.Value(t.meta)) {
		text += policy.WhileUsed
	}
	return text + " by the label " + k.Label
}
