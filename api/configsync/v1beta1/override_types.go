// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// NamespaceStrategy is what becomes of a namespace that the source uses and does not
// declare.
type NamespaceStrategy string

const (
	// NamespacesImplicit makes it.
	NamespacesImplicit NamespaceStrategy = "implicit"
	// NamespacesExplicit waits until somebody else does.
	NamespacesExplicit NamespaceStrategy = "explicit"
)

const (
	// StatusEnabled writes the status of each object into the ResourceGroup.
	StatusEnabled = "enabled"
	// StatusDisabled does not.
	StatusDisabled = "disabled"
)

// Override changes how a source is synced.
type Override struct {
	// resources of the containers of a reconciler. Holdfast runs none, and ignores them.
	// +optional
	// +listType=atomic
	Resources []ContainerResources `json:"resources,omitempty"`

	// gitSyncDepth is how many commits are fetched, 0 for all. If it is not set, 1, or
	// 500 where spec.git.revision is set.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GitSyncDepth *int64 `json:"gitSyncDepth,omitempty"`

	// statusMode is enabled or disabled: whether the ResourceGroup has the status of
	// each object, which makes it grow. enabled if empty.
	// +optional
	// +kubebuilder:validation:Pattern=`^(enabled|disabled|)$`
	StatusMode string `json:"statusMode,omitempty"`

	// reconcileTimeout is how long others wait for an object that they depend on to
	// become ready, such as "10m"; 5m if empty.
	// +optional
	ReconcileTimeout string `json:"reconcileTimeout,omitempty"`

	// apiServerTimeout bounds each call to the API server, such as "30s"; 15s if empty.
	// +optional
	APIServerTimeout string `json:"apiServerTimeout,omitempty"`

	// enableShellInRendering lets kustomize fetch bases from elsewhere. Holdfast never
	// does, and ignores it.
	// +optional
	EnableShellInRendering *bool `json:"enableShellInRendering,omitempty"`

	// logLevels of the containers of a reconciler. Holdfast runs none, and ignores them.
	// +optional
	// +listType=map
	// +listMapKey=containerName
	LogLevels []ContainerLogLevel `json:"logLevels,omitempty"`

	// namespaceStrategy is what becomes of namespaces that the source uses and does
	// not declare: with implicit they are made, with explicit what is in them waits
	// until they are there. implicit if empty.
	// +optional
	// +kubebuilder:validation:Enum=implicit;explicit
	NamespaceStrategy NamespaceStrategy `json:"namespaceStrategy,omitempty"`

	// roleRefs are the roles by which the RootSync may do things; cluster-admin if there
	// are none.
	// +optional
	// +listType=atomic
	RoleRefs []RoleRef `json:"roleRefs,omitempty"`
}

// The kinds of a RoleRef.
const (
	KindRole        = "Role"
	KindClusterRole = "ClusterRole"
)

// RoleRef names a role to bind.
type RoleRef struct {
	// kind is Role or ClusterRole.
	// +required
	// +kubebuilder:validation:Enum=Role;ClusterRole
	Kind string `json:"kind"`
	// name of the role.
	// +required
	Name string `json:"name"`
	// namespace that it is bound in: that of a Role, or the only one where a ClusterRole
	// counts. A ClusterRole counts everywhere if it is empty.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ContainerResources are those of one container. Its quantities are not read, because
// nothing is done by them, and the schema lets some through that cannot be.
type ContainerResources struct {
	// containerName is that of the container.
	// +optional
	// +kubebuilder:validation:Pattern=`^(reconciler|git-sync|hydration-controller|oci-sync|helm-sync|gcenode-askpass-sidecar|otel-agent)$`
	ContainerName string `json:"containerName,omitempty"`
	// cpuRequest is the request of CPU.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	CPURequest *runtime.RawExtension `json:"cpuRequest,omitempty"`
	// memoryRequest is the request of memory.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	MemoryRequest *runtime.RawExtension `json:"memoryRequest,omitempty"`
	// cpuLimit is the limit of CPU.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	CPULimit *runtime.RawExtension `json:"cpuLimit,omitempty"`
	// memoryLimit is the limit of memory.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	MemoryLimit *runtime.RawExtension `json:"memoryLimit,omitempty"`
}

// ContainerLogLevel is that of one container.
type ContainerLogLevel struct {
	// containerName is that of the container.
	// +required
	// +kubebuilder:validation:Pattern=`^(reconciler|git-sync|hydration-controller|oci-sync|helm-sync|gcenode-askpass-sidecar|otel-agent)$`
	ContainerName string `json:"containerName"`
	// logLevel is how much the container logs.
	// +required
	// +kubebuilder:validation:Minimum=-10
	// +kubebuilder:validation:Maximum=10
	LogLevel int `json:"logLevel"`
}
