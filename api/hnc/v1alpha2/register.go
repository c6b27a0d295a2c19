// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group, and the domain of HNC's labels and annotations.
const GroupName = "hnc.x-k8s.io"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha2"}

// Resources of the group, as they stand in paths and roles.
const (
	ResourceHierarchyConfigurations    = "hierarchyconfigurations"
	ResourceSubnamespaceAnchors        = "subnamespaceanchors"
	ResourceHNCConfigurations          = "hncconfigurations"
	ResourceHierarchicalResourceQuotas = "hierarchicalresourcequotas"
)

// KindHierarchicalResourceQuota is the kind that is refused.
const KindHierarchicalResourceQuota = "HierarchicalResourceQuota"

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&HierarchyConfiguration{}, &HierarchyConfigurationList{},
		&SubnamespaceAnchor{}, &SubnamespaceAnchorList{},
		&HNCConfiguration{}, &HNCConfigurationList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
