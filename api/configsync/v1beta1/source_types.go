// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "k8s.io/apimachinery/pkg/runtime"

// Auth is how Config Sync gets access to a source.
type Auth string

const (
	// AuthNone needs no Secret.
	AuthNone Auth = "none"
	// AuthSSH is a private key.
	AuthSSH Auth = "ssh"
	// AuthToken is a user name with a token or password.
	AuthToken Auth = "token"
	// AuthCookieFile is a file of cookies. Holdfast refuses it.
	AuthCookieFile Auth = "cookiefile"
	// AuthGithubApp is an app of GitHub. Holdfast refuses it.
	AuthGithubApp Auth = "githubapp"
	// AuthGCENode is the account of a node in Google Cloud. Holdfast refuses it.
	AuthGCENode Auth = "gcenode"
	// AuthGCPServiceAccount is an account of Google Cloud. Holdfast refuses it.
	AuthGCPServiceAccount Auth = "gcpserviceaccount"
	// AuthK8sServiceAccount is the service account, known to Google Cloud. Holdfast
	// refuses it.
	AuthK8sServiceAccount Auth = "k8sserviceaccount"
)

// SecretReference names a Secret in the namespace of the RootSync.
type SecretReference struct {
	// name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`
}

// Git is a repository.
type Git struct {
	// repo is the address: https, ssh, or in the form of scp.
	// +required
	Repo string `json:"repo"`

	// branch to sync; master if empty. It does not count where revision is set, and is
	// not HEAD.
	// +optional
	Branch string `json:"branch,omitempty"`

	// revision to sync: a tag, a branch, a ref or a commit. HEAD if empty, which is that
	// of the branch.
	// +optional
	Revision string `json:"revision,omitempty"`

	// dir is the folder to sync; that of the repository itself if empty.
	// +optional
	Dir string `json:"dir,omitempty"`

	// period between two looks at the repository, such as "30s"; 15s if empty.
	// +optional
	Period string `json:"period,omitempty"`

	// auth is how to get access. Holdfast refuses all but none, token and ssh.
	// +required
	// +kubebuilder:validation:Enum=ssh;cookiefile;gcenode;gcpserviceaccount;githubapp;token;none
	Auth Auth `json:"auth"`

	// gcpServiceAccountEmail is the account, where auth is gcpserviceaccount.
	// +optional
	GCPServiceAccountEmail string `json:"gcpServiceAccountEmail,omitempty"`

	// proxy to reach the repository by https through, where auth is none, cookiefile,
	// token or githubapp. A URL with a password belongs into the Secret, with the
	// key "https_proxy".
	// +optional
	Proxy string `json:"proxy,omitempty"`

	// secretRef is the Secret with what auth needs: "ssh", and "known_hosts" where host
	// keys are to be checked; "username" and "token".
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// noSSLVerify takes any certificate for that of the server.
	// +optional
	NoSSLVerify bool `json:"noSSLVerify,omitempty"`

	// caCertSecretRef is the Secret whose "cert" is the authority that the server's
	// certificate is from.
	// +optional
	// +nullable
	CACertSecretRef *SecretReference `json:"caCertSecretRef,omitempty"`
}

// OCI is an image.
type OCI struct {
	// image with its tag or digest; the tag is latest if there is neither.
	// +required
	Image string `json:"image"`

	// dir is the folder to sync; that of the image itself if empty.
	// +optional
	Dir string `json:"dir,omitempty"`

	// period between two looks at the registry, such as "30s"; 15s if empty.
	// +optional
	Period string `json:"period,omitempty"`

	// auth is how to get access. Holdfast refuses all but none and token.
	// +required
	// +kubebuilder:validation:Enum=gcenode;gcpserviceaccount;k8sserviceaccount;token;none
	Auth Auth `json:"auth"`

	// gcpServiceAccountEmail is the account, where auth is gcpserviceaccount.
	// +optional
	GCPServiceAccountEmail string `json:"gcpServiceAccountEmail,omitempty"`

	// secretRef is the Secret with "username" and "password", where auth is token.
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// caCertSecretRef is the Secret whose "cert" is the authority that the registry's
	// certificate is from.
	// +optional
	// +nullable
	CACertSecretRef *SecretReference `json:"caCertSecretRef,omitempty"`
}

// Helm is a chart. Holdfast refuses it.
type Helm struct {
	// repo is the address of the chart's repository.
	// +required
	Repo string `json:"repo"`

	// chart is its name.
	// +required
	Chart string `json:"chart"`

	// version of the chart: one, a range, or latest; latest if empty.
	// +optional
	Version string `json:"version,omitempty"`

	// releaseName is that of the release.
	// +optional
	ReleaseName string `json:"releaseName,omitempty"`

	// namespace is that of the release; default if empty.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// deployNamespace is the namespace of the chart's objects. It excludes namespace.
	// +optional
	DeployNamespace string `json:"deployNamespace,omitempty"`

	// values of the chart. They count before those of valuesFileRefs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Values *runtime.RawExtension `json:"values,omitempty"`

	// valuesFileRefs are ConfigMaps with values; later ones count before earlier ones.
	// +optional
	// +listType=atomic
	ValuesFileRefs []ValuesFileRef `json:"valuesFileRefs,omitempty"`

	// includeCRDs says whether the CustomResourceDefinitions of the chart are synced.
	// +optional
	IncludeCRDs bool `json:"includeCRDs,omitempty"`

	// period between two looks at the repository, such as "30m"; 1h if empty.
	// +optional
	Period string `json:"period,omitempty"`

	// auth is how to get access.
	// +required
	// +kubebuilder:validation:Enum=none;gcpserviceaccount;k8sserviceaccount;token;gcenode
	Auth Auth `json:"auth"`

	// gcpServiceAccountEmail is the account, where auth is gcpserviceaccount.
	// +optional
	GCPServiceAccountEmail string `json:"gcpServiceAccountEmail,omitempty"`

	// secretRef is the Secret with "username" and "password", where auth is token.
	// +optional
	// +nullable
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// caCertSecretRef is the Secret whose "cert" is the authority that the server's
	// certificate is from.
	// +optional
	// +nullable
	CACertSecretRef *SecretReference `json:"caCertSecretRef,omitempty"`
}

// ValuesFileRef names values in a ConfigMap, which must be immutable.
type ValuesFileRef struct {
	// name of the ConfigMap, in the namespace of the RootSync.
	// +optional
	Name string `json:"name,omitempty"`
	// dataKey of the values; values.yaml if empty.
	// +optional
	DataKey string `json:"dataKey,omitempty"`
}
