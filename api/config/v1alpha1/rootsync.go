// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RootSyncConfiguration is about RootSyncs. It is for the workload "sync", which runs
// where there are any.
type RootSyncConfiguration struct {
	// claims settle whose a namespace is: what a RootSync declares goes before what others
	// only use, and of several that declare one the oldest has it. Without claims it is as
	// in Config Sync, where whoever writes last has it. Default: true.
	// +optional
	Claims *bool `json:"claims,omitempty"`

	// requireRoleRefs refuses RootSyncs that name no roles in spec.override.roleRefs,
	// which would be cluster-admin. Default: false.
	// +optional
	RequireRoleRefs bool `json:"requireRoleRefs,omitempty"`

	// allowFileSources lets RootSyncs read Git repositories in folders of the machine, as
	// file:///path. It is fixed while the workload runs. Default: false.
	// +optional
	AllowFileSources bool `json:"allowFileSources,omitempty"`

	// renderTimeout is how long kustomize may take for one RootSync: between 1s and 1h. It is
	// fixed while the workload runs. Default: 1m.
	// +optional
	RenderTimeout metav1.Duration `json:"renderTimeout,omitzero"`
}
