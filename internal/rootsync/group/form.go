// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Resource is what a ResourceGroup is called in a URL.
var Resource = schema.GroupVersionResource{Group: "kpt.dev", Version: "v1alpha1", Resource: "resourcegroups"}

const (
	kind             = "ResourceGroup"
	labelID          = "cli-utils.sigs.k8s.io/inventory-id"
	annotationStatus = "configsync.gke.io/status"
	statusEnabled    = "enabled"
	statusDisabled   = "disabled"
)

// Status is what became of an object, in the words of a ResourceGroup.
type Status struct {
	ID object.ID
	// Status is that of kstatus.
	Status string
	// Strategy is Apply or Delete.
	Strategy string
	// Actuation and Reconcile are Pending, Succeeded, Skipped, Failed; Reconcile may be
	// Timeout as well.
	Actuation, Reconcile string
	// SourceHash begins the name of the commit.
	SourceHash string
}

// empty is a ResourceGroup without objects.
func empty(sync object.Sync) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(Resource.GroupVersion().WithKind(kind))
	u.SetNamespace(object.SyncNamespace)
	u.SetName(string(sync))
	u.SetLabels(map[string]string{labelID: sync.Inventory()})
	return u
}

// idsOf are the objects of a ResourceGroup, in order.
func idsOf(u *unstructured.Unstructured) []object.ID {
	if u == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "resources")
	out := make([]object.ID, 0, len(list))
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			out = append(out, idOf(m))
		}
	}
	return sorted(out)
}

func sorted(ids []object.ID) []object.ID {
	out := slices.SortedFunc(slices.Values(ids), object.ID.Compare)
	return slices.Compact(out)
}

func idOf(m map[string]any) object.ID {
	text := func(key string) string { s, _ := m[key].(string); return s }
	return object.ID{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}
}

func reference(id object.ID) map[string]any {
	return map[string]any{"group": id.Group, "kind": id.Kind, "namespace": id.Namespace, "name": id.Name}
}

// resources is spec.resources of objects that are in order.
func resources(ids []object.ID) []any {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = reference(id)
	}
	return out
}

// statuses is status.resourceStatuses, in order.
func statuses(list []Status) []any {
	list = slices.SortedFunc(slices.Values(list), func(a, b Status) int { return a.ID.Compare(b.ID) })
	out := make([]any, len(list))
	for i, s := range list {
		m := reference(s.ID)
		for k, v := range map[string]string{
			"status": s.Status, "strategy": s.Strategy, "actuation": s.Actuation, "reconcile": s.Reconcile, "sourceHash": s.SourceHash,
		} {
			if v != "" {
				m[k] = v
			}
		}
		out[i] = m
	}
	return out
}

// conditions are those of a ResourceGroup, in the words of the controller that keeps
// them in Config Sync. The times of those that stay as they are stay too.
func conditions(have []any, pending bool, now string) []any {
	status, reason, message := "False", "FinishReconciling", "finish reconciling"
	if pending {
		status, reason, message = "True", "ResourcesReconciling", "objects are on their way"
	}
	out := []any{
		map[string]any{"type": "Reconciling", "status": status, "reason": reason, "message": message, "lastTransitionTime": now},
		map[string]any{"type": "Stalled", "status": "False", "reason": "FinishReconciling", "message": "", "lastTransitionTime": now},
	}
	for _, c := range out {
		c, _ := c.(map[string]any)
		for _, was := range have {
			if was, ok := was.(map[string]any); ok && was["type"] == c["type"] && was["status"] == c["status"] {
				c["lastTransitionTime"] = was["lastTransitionTime"]
			}
		}
	}
	return out
}
