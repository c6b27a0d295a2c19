// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import "k8s.io/apimachinery/pkg/runtime/schema"

// BuiltinScopes are the kinds that every Kubernetes has and a source can declare, and
// RootSyncs: for checks without a cluster. What a CRD in the source defines comes on top.
func BuiltinScopes() Scopes { return builtin{} }

type builtin struct{}

// Namespaced answers for a kind.
func (builtin) Namespaced(kind schema.GroupKind) (namespaced, known bool) {
	namespaced, known = builtinKinds[kind.Group][kind.Kind]
	return namespaced, known
}

// builtinKinds says of the kinds of each group whether they are in namespaces, as
// Kubernetes 1.37 serves them. A test compares it with a real API server.
var builtinKinds = map[string]map[string]bool{
	"": {
		"Namespace":             false,
		"Node":                  false,
		"PersistentVolume":      false,
		"ConfigMap":             true,
		"Endpoints":             true,
		"Event":                 true,
		"LimitRange":            true,
		"PersistentVolumeClaim": true,
		"Pod":                   true,
		"PodTemplate":           true,
		"ReplicationController": true,
		"ResourceQuota":         true,
		"Secret":                true,
		"Service":               true,
		"ServiceAccount":        true,
	},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy":          false,
		"MutatingAdmissionPolicyBinding":   false,
		"MutatingWebhookConfiguration":     false,
		"ValidatingAdmissionPolicy":        false,
		"ValidatingAdmissionPolicyBinding": false,
		"ValidatingWebhookConfiguration":   false,
	},
	"apiextensions.k8s.io": {
		"CustomResourceDefinition": false,
	},
	"apiregistration.k8s.io": {
		"APIService": false,
	},
	"apps": {
		"ControllerRevision": true,
		"DaemonSet":          true,
		"Deployment":         true,
		"ReplicaSet":         true,
		"StatefulSet":        true,
	},
	"autoscaling": {
		"HorizontalPodAutoscaler": true,
	},
	"batch": {
		"CronJob": true,
		"Job":     true,
	},
	"certificates.k8s.io": {
		"CertificateSigningRequest": false,
		"ClusterTrustBundle":        false,
		"PodCertificateRequest":     true,
	},
	"configsync.gke.io": {
		"RootSync": true,
	},
	"coordination.k8s.io": {
		"Lease": true,
	},
	"discovery.k8s.io": {
		"EndpointSlice": true,
	},
	"events.k8s.io": {
		"Event": true,
	},
	"flowcontrol.apiserver.k8s.io": {
		"FlowSchema":                 false,
		"PriorityLevelConfiguration": false,
	},
	"networking.k8s.io": {
		"IPAddress":     false,
		"IngressClass":  false,
		"ServiceCIDR":   false,
		"Ingress":       true,
		"NetworkPolicy": true,
	},
	"node.k8s.io": {
		"RuntimeClass": false,
	},
	"policy": {
		"PodDisruptionBudget": true,
	},
	"rbac.authorization.k8s.io": {
		"ClusterRole":        false,
		"ClusterRoleBinding": false,
		"Role":               true,
		"RoleBinding":        true,
	},
	"resource.k8s.io": {
		"DeviceClass":           false,
		"DeviceTaintRule":       false,
		"ResourceSlice":         false,
		"ResourceClaim":         true,
		"ResourceClaimTemplate": true,
	},
	"scheduling.k8s.io": {
		"PriorityClass": false,
	},
	"storage.k8s.io": {
		"CSIDriver":             false,
		"CSINode":               false,
		"StorageClass":          false,
		"VolumeAttachment":      false,
		"VolumeAttributesClass": false,
		"CSIStorageCapacity":    true,
	},
	"storagemigration.k8s.io": {
		"StorageVersionMigration": false,
	},
}
