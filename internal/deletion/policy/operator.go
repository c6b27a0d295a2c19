// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An operator deletes an object of its custom resource to create it again: Strimzi and CloudNativePG roll pods that way.
// Strimzi copies the labels of the custom resource to them, CloudNativePG those that its INHERITED_LABELS names. A service
// account counts as the operator of an object if it is authorized to update the status of the object's controller, which
// roles for users and pipelines leave out. A service account that is authorized for all resources does not count.

// ServiceAccountUserPrefix begins the user name of every service account.
const ServiceAccountUserPrefix = "system:serviceaccount:"

// Nothing is a resource that does not exist. Only a user with a rule for all API groups and all resources is authorized to
// update it.
var Nothing = schema.GroupResource{Group: "nothing.holdfast.dev", Resource: "nothings"}

// ReplaceableKinds are the kinds without data whose objects an operator may delete, in addition to DerivedKinds.
// PersistentVolumeClaims, Secrets and custom resources, which may stand for data elsewhere, are not among them.
var ReplaceableKinds = []schema.GroupResource{
	{Resource: "configmaps"},
	{Resource: "serviceaccounts"},
	{Resource: "services"},
	{Group: "apps", Resource: "daemonsets"},
	{Group: "apps", Resource: "deployments"},
	{Group: "apps", Resource: "statefulsets"},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"},
	{Group: "networking.k8s.io", Resource: "ingresses"},
	{Group: "networking.k8s.io", Resource: "networkpolicies"},
	{Group: "policy", Resource: "poddisruptionbudgets"},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"},
}

// DataKinds are the kinds whose objects an operator may not unprotect either.
var DataKinds = []schema.GroupResource{Claims, Volumes}

// replaceable reports whether the operator of an object of a kind may delete it.
func replaceable(r schema.GroupResource) bool {
	_, isDerived := derivedKind(r)
	return isDerived || slices.Contains(ReplaceableKinds, r)
}

// yieldsToOperator reports whether an operator of an object of a kind could delete it, or take the label off it. Of
// DerivedKinds RuleOwn refuses any new owner.
func (k Key) yieldsToOperator(r schema.GroupResource) bool {
	if k.Mark != "" {
		return slices.Contains(ReplaceableKinds, r)
	}
	return !slices.Contains(DataKinds, r)
}

// Plurals are the rules for kinds whose plural does not just end in "s"; the first rule whose Ending matches applies. A
// policy cannot look up the resource of a kind, so it derives the resource.
var Plurals = []struct {
	Ending *regexp.Regexp
	// Cut is the number of letters that Suffix replaces.
	Cut    int
	Suffix string
}{
	{regexp.MustCompile("(s|x|z|ch|sh)$"), 0, "es"}, // Prometheus, Elasticsearch
	{regexp.MustCompile("[^aeiou]y$"), 1, "ies"},    // Proxy; not Gateway
}

// Plural returns the resource that a kind has if its plural is regular.
func Plural(kind string) string {
	kind = strings.ToLower(kind)
	for _, p := range Plurals {
		if p.Ending.MatchString(kind) {
			return kind[:len(kind)-p.Cut] + p.Suffix
		}
	}
	return kind + "s"
}

// OperatorChecks returns two access reviews that decide whether a user is the operator of an object: allowed must be
// authorized, and denied must not. It returns false if the object has no controller or the user is not a service account.
//
// The resource of the controller's kind is Plural of it. The operator of a kind with an irregular plural has to be listed
// in the configuration, as deletion.workloadControllers.
func OperatorChecks(user string, o *metav1.PartialObjectMetadata) (allowed, denied authorizationv1.ResourceAttributes, ok bool) {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || !strings.HasPrefix(user, ServiceAccountUserPrefix) {
		return allowed, denied, false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return allowed, denied, false
	}
	allowed = authorizationv1.ResourceAttributes{
		Group: gv.Group, Resource: Plural(owner.Kind), Subresource: "status", Namespace: o.Namespace, Name: owner.Name, Verb: "update",
	}
	denied = authorizationv1.ResourceAttributes{Group: Nothing.Group, Resource: Nothing.Resource, Namespace: o.Namespace, Verb: "update"}
	return allowed, denied, true
}
