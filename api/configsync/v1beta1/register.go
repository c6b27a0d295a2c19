// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group, and the domain of Config Sync's labels and annotations.
const GroupName = "configsync.gke.io"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

// KindRootSync is the kind of this package.
const KindRootSync = "RootSync"

// ResourceRootSyncs is its resource, as it stands in paths and roles.
const ResourceRootSyncs = "rootsyncs"

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &RootSync{}, &RootSyncList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
