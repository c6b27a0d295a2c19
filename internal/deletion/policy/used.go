// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// UsedBy is how an object shows that it is in use.
type UsedBy string

const (
	// UsedByReplicas is a workload that wants replicas; what still runs of one
	// that wants none does not count, as in OpenKruise.
	UsedByReplicas UsedBy = "replicas"
	// UsedByTraffic is a Service with ready endpoints, which its mark says, or a
	// Service or Ingress that a load balancer has given an address.
	UsedByTraffic UsedBy = "traffic"
	// UsedByContents is a Namespace or a CustomResourceDefinition: what is in it
	// is looked up when it is to be deleted. No policy can.
	UsedByContents UsedBy = "contents"
)

// UsedKind is a kind that has a meaning of being in use, for ProtectCascading.
type UsedKind struct {
	schema.GroupResource
	By UsedBy
}

// UsedKinds are OpenKruise's, with its meaning; those of Service and Ingress it
// leaves open, so that there Cascading protects nothing.
var UsedKinds = []UsedKind{
	{schema.GroupResource{Resource: "namespaces"}, UsedByContents},
	{schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, UsedByContents},
	{schema.GroupResource{Resource: "services"}, UsedByTraffic},
	{schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}, UsedByTraffic},
	{schema.GroupResource{Group: "apps", Resource: "deployments"}, UsedByReplicas},
	{schema.GroupResource{Group: "apps", Resource: "statefulsets"}, UsedByReplicas},
	{schema.GroupResource{Group: "apps", Resource: "replicasets"}, UsedByReplicas},
	{schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}, UsedByReplicas},
	{schema.GroupResource{Group: "apps.kruise.io", Resource: "statefulsets"}, UsedByReplicas},
	{schema.GroupResource{Group: "apps.kruise.io", Resource: "uniteddeployments"}, UsedByReplicas},
}

func usedBy(r schema.GroupResource) UsedBy {
	i := slices.IndexFunc(UsedKinds, func(k UsedKind) bool { return k.GroupResource == r })
	if i < 0 {
		return ""
	}
	return UsedKinds[i].By
}

func canBeUsed(r schema.GroupResource) bool { return usedBy(r) != "" }

// Used says whether an object shows that it is in use. For a Namespace and a
// CustomResourceDefinition it says no: that is looked up.
func Used(r schema.GroupResource, object map[string]any) bool {
	switch usedBy(r) {
	case UsedByReplicas:
		replicas, found, err := unstructured.NestedInt64(object, "spec", "replicas")
		if err != nil { // decoded from JSON without the machinery's own decoder
			f, _, _ := unstructured.NestedFloat64(object, "spec", "replicas")
			return f > 0
		}
		return !found || replicas > 0
	case UsedByTraffic:
		addresses, _, _ := unstructured.NestedSlice(object, "status", "loadBalancer", "ingress")
		inUse := v1alpha1.MarkOf(&unstructured.Unstructured{Object: object}, v1alpha1.InUseMark) != ""
		return len(addresses) > 0 || inUse && r.Resource == "services"
	}
	return false
}
