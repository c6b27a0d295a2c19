// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is Holdfast's own API group.
const GroupName = "holdfast.dev"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Holdfast{}, &HoldfastList{},
		&ResourceDeletionProtection{}, &ResourceDeletionProtectionList{},
		&DeletionOverride{}, &DeletionOverrideList{},
		&EvictionPolicy{}, &EvictionPolicyList{},
		&ServiceAccountTemplate{}, &ServiceAccountTemplateList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
