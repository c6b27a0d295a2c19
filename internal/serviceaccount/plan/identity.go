// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
)

// Identity is what a key means to a cloud that gives pods an identity by their service
// account. All of them count when a pod is made: one that runs goes on as it was.
type Identity struct {
	// Provider is EKS, GKE or Azure.
	Provider string
	// Meaning of the key, for people.
	Meaning string
}

// The clouds.
const (
	EKS   = "EKS"
	GKE   = "GKE"
	Azure = "Azure"
)

// identities are the keys that are known.
var identities = map[Key]Identity{
	{Annotation, "eks.amazonaws.com/role-arn"}:               {EKS, "the IAM role that the pods may assume"},
	{Annotation, "eks.amazonaws.com/audience"}:               {EKS, "whom the pods' token is for"},
	{Annotation, "eks.amazonaws.com/token-expiration"}:       {EKS, "how long the pods' token is valid, in seconds"},
	{Annotation, "eks.amazonaws.com/sts-regional-endpoints"}: {EKS, "whether roles are assumed in the region"},

	{Annotation, "iam.gke.io/gcp-service-account"}:          {GKE, "the IAM service account that the pods act as"},
	{Annotation, "iam.gke.io/return-principal-id-as-email"}: {GKE, "what the metadata server tells of the pods' principal"},
	{Annotation, "iam.gke.io/credential-quota-project"}:     {GKE, "the project whose quota the pods' calls count against"},
	{Annotation, "azure.workload.identity/client-id"}:       {Azure, "the application or managed identity that the pods act as"},
	{Annotation, "azure.workload.identity/tenant-id"}:       {Azure, "the tenant of that identity"},
	{Label, "azure.workload.identity/use"}:                  {Azure, "whether the account has an identity, for versions before 1.0; later ones ask the pod's label"},
	{Annotation, "azure.workload.identity/service-account-token-expiration"}: {
		Azure, "how long the pods' token is valid, in seconds",
	},
}

// prefixes are those of keys that belong to a cloud, the unknown ones with them.
var prefixes = []struct{ prefix, provider string }{
	{"eks.amazonaws.com/", EKS}, {"iam.gke.io/", GKE}, {"azure.workload.identity/", Azure},
}

// empowering are further keys, and what keys begin with, that change what the pods of an account may do.
var empowering = []string{
	"kubernetes.io/enforce-mountable-secrets",
	"pod-identity.alibabacloud.com/",
	"serviceaccounts.openshift.io/", // an account with these is an OAuth client
}

// empowers reports whether a key changes what the pods of an account may do.
func empowers(k Key) bool {
	return IdentityOf(k) != nil || slices.ContainsFunc(empowering, func(key string) bool { return strings.HasPrefix(k.Name, key) })
}

// IdentityOf says which cloud identity hangs on a key; nil if none.
func IdentityOf(k Key) *Identity {
	if known, ok := identities[k]; ok {
		return &known
	}
	for _, p := range prefixes {
		if strings.HasPrefix(k.Name, p.prefix) {
			return &Identity{Provider: p.provider, Meaning: "a setting of the identity of the pods"}
		}
	}
	return nil
}
