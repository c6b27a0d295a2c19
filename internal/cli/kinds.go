// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// kind is a kind of objects and the resource that serves it.
type kind struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

func kindOf(m *meta.RESTMapping) kind {
	return kind{
		GroupVersionResource: m.Resource,
		Kind:                 m.GroupVersionKind.Kind,
		Namespaced:           m.Scope.Name() == meta.RESTScopeNameNamespace,
	}
}

func (k kind) groupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

func (k kind) gvk() schema.GroupVersionKind { return k.GroupVersion().WithKind(k.Kind) }

// These kinds are known without asking.
var (
	namespacesKind = kind{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
		Kind:                 "Namespace",
	}
	crdsKind = kind{
		GroupVersionResource: schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		Kind:                 "CustomResourceDefinition",
	}
	protectionsKind = kind{
		GroupVersionResource: v1alpha1.GroupVersion.WithResource("resourcedeletionprotections"),
		Kind:                 "ResourceDeletionProtection",
	}
	overridesKind = kind{
		GroupVersionResource: v1alpha1.GroupVersion.WithResource("deletionoverrides"),
		Kind:                 "DeletionOverride",
	}
	evictionPoliciesKind = kind{
		GroupVersionResource: v1alpha1.GroupVersion.WithResource("evictionpolicies"),
		Kind:                 "EvictionPolicy",
	}
	podsKind = kind{
		GroupVersionResource: podsResource, Kind: "Pod", Namespaced: true,
	}
	nodesKind = kind{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node",
	}
	volumesKind = kind{
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}, Kind: "PersistentVolume",
	}
	clusterRolesKind = kind{
		GroupVersionResource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		Kind:                 "ClusterRole",
	}
)

// fleeting kinds are records of what goes on. Nobody protects them, and there
// may be very many.
var fleeting = sets.New(
	schema.GroupResource{Resource: "events"},
	schema.GroupResource{Group: "events.k8s.io", Resource: "events"},
	schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"},
)

// kindFilter says which kinds a command works on.
type kindFilter struct {
	// verbs that the API server must offer.
	verbs []string
	// clusterScoped takes kinds without a namespace too.
	clusterScoped bool
}

// kinds asks the API server for its kinds. Groups that cannot be asked are
// errors beside the rest.
func (c *clients) kinds(filter kindFilter) ([]kind, []error) {
	client, err := c.discovery()
	if err != nil {
		return nil, []error{err}
	}
	lists, err := client.ServerPreferredResources()
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &failed):
		return selectKinds(lists, filter), groupErrors(failed)
	case err != nil:
		return nil, []error{fmt.Errorf("ask the API server for its kinds: %w", reachable(err))}
	}
	return selectKinds(lists, filter), nil
}

func groupErrors(failed *discovery.ErrGroupDiscoveryFailed) []error {
	var out []error
	for gv, err := range failed.Groups {
		out = append(out, fmt.Errorf("the kinds of %s are not known and were left out: %w", gv, err))
	}
	slices.SortFunc(out, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out
}

// selectKinds picks the kinds that a filter asks for, sorted as kubectl writes
// them.
func selectKinds(lists []*metav1.APIResourceList, filter kindFilter) []kind {
	var out []kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // not a kind that any client could ask for
		}
		for _, r := range list.APIResources {
			k := kind{GroupVersionResource: gv.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced}
			if filter.takes(k, r.Verbs) {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, compareKinds)
	return out
}

func (f kindFilter) takes(k kind, verbs []string) bool {
	return !strings.Contains(k.Resource, "/") &&
		!fleeting.Has(k.GroupResource()) &&
		(k.Namespaced || f.clusterScoped) &&
		sets.New(verbs...).HasAll(f.verbs...)
}

func compareKinds(a, b kind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
}
