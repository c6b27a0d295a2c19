// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

var (
	apiServices  = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// guardedVerbs are those without which Holdfast cannot protect a kind.
var guardedVerbs = []string{"list", "watch", "patch", "delete"}

// lookBelow finds what hangs below an object in the cluster, and marks the object
// as that asks for. The lists are of metadata only.
func (c *clients) lookBelow(ctx context.Context, common whyFacts, root target, namespaces map[string]map[string]string) (target, *below) {
	var found []target
	queries, left, problems := c.queriesBelow(common, root)
	relation := relationOf(root.kind.GroupResource())
	problems = append(problems, c.sweep(ctx, queries, func(q query, o *metav1.PartialObjectMetadata) {
		if t := newTarget(q.kind, o); relation != relationDependents || len(o.OwnerReferences) > 0 {
			found = append(found, t)
		}
	})...)
	volumes, err := c.volumesBelow(ctx, root, found)
	if err != nil {
		problems = append(problems, err)
	}
	found = append(found, volumes...)
	found, unknown := c.lookAtUseOf(ctx, found)
	problems = append(problems, unknown...)
	w := newWorld(common.enforcement, common.protections, namespaces, append([]target{root}, found...))
	root = w.byUID[root.meta.UID]
	b := w.below(root)
	switch relation {
	case relationInstances:
		b.Others = new(len(b.Items) - b.Protected)
		if root.use == useUnknown && len(problems) == 0 {
			root.use = useOf(len(b.Items) > 0)
		}
		b.Items = onlyProtected(b.Items)
	case relationContents:
		b.Items = onlyProtected(b.Items)
	}
	b.NotLookedAt = left
	for _, err := range problems {
		b.Problems = append(b.Problems, err.Error())
	}
	return root, &b
}

// labelsOfNamespaces are the labels of the namespaces that count for what hangs
// below an object; what cannot be read is missing.
func (c *clients) labelsOfNamespaces(ctx context.Context, root target) map[string]map[string]string {
	out := map[string]map[string]string{}
	if ns := root.meta.Namespace; ns != "" {
		if t, err := c.namespaceObject(ctx, ns); err == nil {
			out[ns] = t.meta.Labels
		}
		return out
	}
	if root.kind.GroupResource() == namespacesKind.GroupResource() {
		return out // it is the root
	}
	_ = c.sweep(ctx, []query{{kind: namespacesKind}}, func(_ query, o *metav1.PartialObjectMetadata) { out[o.Name] = o.Labels })
	return out
}

// onlyProtected are the nodes that are not simply deleted.
func onlyProtected(nodes []node) []node {
	out := []node{}
	for _, n := range nodes {
		if n.Protected || n.Fate != fateDeleted {
			out = append(out, n)
		}
	}
	return out
}

// queriesBelow are the lists that find what hangs below an object, and the kinds
// that are left out.
func (c *clients) queriesBelow(common whyFacts, root target) (queries []query, leftOut []string, problems []error) {
	relation := relationOf(root.kind.GroupResource())
	kinds, problems := c.kinds(kindFilter{verbs: guardedVerbs, clusterScoped: relation != relationContents && root.meta.Namespace == ""})
	namespace := root.meta.Namespace
	if relation == relationContents {
		namespace = root.meta.Name
	}
	for _, k := range kinds {
		switch {
		case relation == relationInstances && k.GroupResource().String() != root.meta.Name:
		case common.aggregated.Has(k.Group + "/" + k.Version):
			leftOut = append(leftOut, k.GroupResource().String())
		case relation == relationContents && !common.protections.Names(k.groupKind()):
			for _, label := range searched() {
				queries = append(queries, query{kind: k, namespace: namespace, selector: label})
			}
		default:
			queries = append(queries, query{kind: k, namespace: namespace})
		}
	}
	return queries, leftOut, problems
}

// searched are the labels by which protected objects are found: those that people
// set, and the one that every marked object carries.
func searched() []string {
	out := []string{v1alpha1.MarkedLabel}
	for _, k := range labelKeys() {
		out = append(out, k.Label)
	}
	return out
}

// lookAtUseOf finds out whether objects are in use, where that may decide. One of which that is not known is assumed to be.
func (c *clients) lookAtUseOf(ctx context.Context, found []target) (out []target, problems []error) {
	type result struct {
		target target
		err    error
	}
	inOrder(ctx, found,
		func(ctx context.Context, t target) result {
			t, err := c.lookAtUse(ctx, t)
			return result{t, err}
		},
		func(t target, r result) {
			out = append(out, r.target)
			if r.err != nil {
				problems = append(problems, fmt.Errorf("whether %s is in use is not known: %w", t, r.err))
			}
		})
	return out, problems
}

// lookAtUse finds out whether an object is in use, where that may decide.
func (c *clients) lookAtUse(ctx context.Context, t target) (target, error) {
	r := t.kind.GroupResource()
	matters := slices.ContainsFunc(allKeys(), func(k policy.Key) bool { return k.WhileUsed(r, k.Value(t.meta)) })
	if !matters || !policy.CanBeUsed(r) || r == crdsKind.GroupResource() {
		return t, nil // of a definition its instances are looked at anyway
	}
	client, err := c.Dynamic()
	if err != nil {
		return t, err
	}
	if r == namespacesKind.GroupResource() {
		list, err := client.Resource(podsResource).Namespace(t.meta.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return t, err
		}
		used := anyOf(list, activePod)
		if !used {
			if list, err = client.Resource(claims).Namespace(t.meta.Name).List(ctx, metav1.ListOptions{}); err != nil {
				return t, err
			}
			used = anyOf(list, boundClaim)
		}
		t.use = useOf(used)
		return t, nil
	}
	o, err := client.Resource(t.kind.GroupVersionResource).Namespace(t.meta.Namespace).Get(ctx, t.meta.Name, metav1.GetOptions{})
	if err != nil {
		return t, err
	}
	t.use = useOf(policy.Used(r, o.Object))
	return t, nil
}

func anyOf(list *unstructured.UnstructuredList, is func(o *unstructured.Unstructured) bool) bool {
	for i := range list.Items {
		if list.Items[i].GetDeletionTimestamp() == nil && is(&list.Items[i]) {
			return true
		}
	}
	return false
}

func activePod(o *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed)
}

func boundClaim(o *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase == string(corev1.ClaimBound)
}
