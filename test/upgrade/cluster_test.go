// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// prefix begins all names of the recorded cluster.
const prefix = "first"

// options are those of both versions.
var options = testkit.Options{
	Manifests: []string{"config/crd/hnc"},
	Configuration: `
featureGates: {ServiceAccountPatching: true}
deletion: {mode: Enforce}
hierarchy: {mode: Enforce}
serviceAccounts: {mode: Enforce}
`,
}

// kinds are those of all objects that were recorded, in the order in which they are restored.
var kinds = []string{
	"namespaces", "configmaps", "secrets", "serviceaccounts", "roles", "rolebindings", "clusterrolebindings",
	"rootsyncs.configsync.gke.io", "resourcegroups.kpt.dev", "subnamespaceanchors.hnc.x-k8s.io", "hierarchyconfigurations.hnc.x-k8s.io",
	"resourcedeletionprotections.holdfast.dev", "kafkaconnects.kafka.strimzi.io",
}

// What users have on it.
const (
	definitions = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kafkaconnects.kafka.strimzi.io}, spec: {group: kafka.strimzi.io, scope: Namespaced,
  names: {plural: kafkaconnects, singular: kafkaconnect, kind: KafkaConnect}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

	tree = `
{apiVersion: v1, kind: Namespace, metadata: {name: "{acme}"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: deployer, namespace: "{acme}"}, rules: [{apiGroups: [apps], resources: [deployments], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: deployer, namespace: "{acme}"}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dora}]}
---
{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{team}", namespace: "{acme}"}}
`
	protected = `
{apiVersion: v1, kind: Namespace, metadata: {name: "{data}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ledger, namespace: "{data}", labels: {holdfast.dev/deletion-protected: Always}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: "{data}", labels: {tier: vital}}}
---
{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{vital}"}, spec: {reason: ask first, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: Secret, namespace: "{data}", labelSelector: {matchLabels: {tier: vital}}}]}]}}
`
	accounts = `
{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, metadata: {name: lake, namespace: "{data}"}, spec: {template: {serviceAccount: {metadata: {annotations: {eks.amazonaws.com/role-arn: "arn:one"}, labels: {team: lake}}}}}}
`
	// The RootSync platform is cluster-admin, and app may edit in the namespace shop, which it declares, too.
	platform = `
{apiVersion: v1, kind: Namespace, metadata: {name: "{shop}", labels: {of: platform}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: "{shop}"}, data: {v: one}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: tool, namespace: "{tools}"}, data: {v: one}}
`
	app = `
{apiVersion: v1, kind: Namespace, metadata: {name: "{shop}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: feature, namespace: "{shop}"}, data: {v: one}}
`
)

// repositories are the names of those that RootSyncs sync from.
var repositories = []string{"platform", "app"}

// place stands in the recorded objects for the URL of a repository.
func place(s *story.Story, name string) (url, placeholder string) {
	return s.Repo(name).URL(), "http://git.example.com/" + name + ".git"
}
