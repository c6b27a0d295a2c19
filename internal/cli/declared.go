// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// declaredRows are what a namespace, or with none each, protects by default: the Namespace, and in it the objects of the kinds that it
// lists. There are none while the feature gate is off.
func (c *clients) declaredRows(ctx context.Context, namespace, selector string) ([]row, []error) {
	declaring, problems := c.declaring(ctx, namespace)
	if len(declaring) == 0 {
		return nil, problems
	}
	e := c.enforcement(ctx)
	if e.policyMode(policy.ByDefaultPolicyName) == configv1alpha1.ModeOff {
		return nil, problems
	}
	kinds, more := c.kinds(kindFilter{verbs: []string{"list", "delete"}})
	problems = append(problems, more...)
	var rows []row
	var queries []query
	places := map[string]place{}
	for _, ns := range declaring {
		at := placeOf(namespacesKind.GroupResource(), ns.meta, nil)
		places[ns.meta.Name] = at
		if selects(selector, ns.meta) {
			rows = append(rows, row{
				target: ns, label: v1alpha1.ProtectByDefaultLabel, value: v1alpha1.ProtectAlways,
				effect: declaredEffect(e, policy.ByDefaultNamespacePolicyName, ns.meta, at), detail: strings.Join(listedKinds(ns.meta), ", "),
			})
		}
		listed := listedKinds(ns.meta)
		for _, k := range kinds {
			if slices.Contains(listed, k.GroupResource().String()) {
				queries = append(queries, query{kind: k, namespace: ns.meta.Name, selector: selector})
			}
		}
	}
	problems = append(problems, c.sweep(ctx, queries, func(q query, o *metav1.PartialObjectMetadata) {
		if metav1.GetControllerOfNoCopy(o) != nil {
			return // left to the controller
		}
		rows = append(rows, row{
			target: newTarget(q.kind, o), label: v1alpha1.ProtectByDefaultLabel, value: v1alpha1.ProtectAlways,
			effect: declaredEffect(e, policy.ByDefaultPolicyName, o, places[o.Namespace]),
		})
	})...)
	return rows, problems
}

// declaring are the namespaces that protect what is in them by default; of all, or of one.
func (c *clients) declaring(ctx context.Context, namespace string) (out []target, problems []error) {
	if namespace == "" {
		problems = c.sweep(ctx, []query{{kind: namespacesKind, selector: v1alpha1.ProtectByDefaultLabel + "=" + v1alpha1.ProtectAlways}},
			func(q query, o *metav1.PartialObjectMetadata) { out = append(out, newTarget(q.kind, o)) })
		return out, problems
	}
	// That it cannot be read has been said where the labels on it were looked for.
	if t, err := c.namespaceObject(ctx, namespace); err == nil && declares(t.meta) {
		out = append(out, t)
	}
	return out, nil
}

func declares(o *metav1.PartialObjectMetadata) bool {
	return o.Labels[v1alpha1.ProtectByDefaultLabel] == v1alpha1.ProtectAlways
}

// listedKinds are the kinds that a Namespace protects by default, as plural.group.
func listedKinds(o *metav1.PartialObjectMetadata) (out []string) {
	for item := range strings.SplitSeq(o.Annotations[v1alpha1.ProtectByDefaultLabel], ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func declaredEffect(e enforcement, name string, o *metav1.PartialObjectMetadata, at place) effect {
	lacking := e.lacking(name, at)
	switch {
	case o.DeletionTimestamp != nil:
		return effectTerminating
	case lacking != "":
		return lacking
	case v1alpha1.MarkOf(o, v1alpha1.OverrideMark) != "" && name == policy.ByDefaultPolicyName,
		v1alpha1.MarkOf(o, v1alpha1.OverrideContentsMark) != "":
		return effectOverridden
	}
	return effectProtected
}
