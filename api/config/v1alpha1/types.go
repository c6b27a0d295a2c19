// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	// GroupVersion is the apiVersion of the configuration file.
	GroupVersion = "config.holdfast.dev/v1alpha1"
	// Kind is the kind of the configuration file.
	Kind = "HoldfastConfiguration"
)

// Mode says what becomes of a verdict that refuses a request.
//
// +kubebuilder:validation:Enum=Off;Audit;Warn;Enforce
type Mode string

const (
	// ModeOff makes no verdict at all.
	ModeOff Mode = "Off"
	// ModeAudit lets the request pass and writes the verdict into the API
	// server's audit log.
	ModeAudit Mode = "Audit"
	// ModeWarn lets the request pass, warns the client, and audits.
	ModeWarn Mode = "Warn"
	// ModeEnforce refuses the request, and audits.
	ModeEnforce Mode = "Enforce"
)

// Modes are all modes, from the weakest to the strongest.
var Modes = []Mode{ModeOff, ModeAudit, ModeWarn, ModeEnforce}

// HoldfastConfiguration is the whole configuration of Holdfast, in one file. A
// change is picked up while Holdfast runs; a file that is not valid is refused
// as a whole and the last good one stays in force.
//
// +kubebuilder:object:root=true
type HoldfastConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// featureGates turns single gates on or off by name. The flag
	// --feature-gates goes before it.
	// +optional
	FeatureGates map[string]bool `json:"featureGates,omitempty"`

	// scope bounds the namespaces of every feature. A feature can narrow it,
	// never widen it. Default: all namespaces.
	// +optional
	Scope Scope `json:"scope,omitzero"`

	// admission is about the objects that Holdfast writes into the API server.
	// +optional
	Admission AdmissionConfiguration `json:"admission,omitzero"`

	// certificates is about the serving certificate of the webhooks.
	// +optional
	Certificates CertificatesConfiguration `json:"certificates,omitzero"`

	// deletion is the guard against accidental deletion.
	// +optional
	Deletion DeletionConfiguration `json:"deletion,omitzero"`

	// eviction is the guard for evictions.
	// +optional
	Eviction EvictionConfiguration `json:"eviction,omitzero"`

	// hierarchy is the trees of namespaces.
	// +optional
	Hierarchy HierarchyConfiguration `json:"hierarchy,omitzero"`

	// rootSync is about RootSyncs.
	// +optional
	RootSync RootSyncConfiguration `json:"rootSync,omitzero"`

	// serviceAccounts is the labels and annotations of service accounts that belong to
	// objects of other kinds.
	// +optional
	ServiceAccounts ServiceAccountsConfiguration `json:"serviceAccounts,omitzero"`
}

// Scope selects namespaces. Cluster-scoped objects are in every scope.
type Scope struct {
	// namespaces is a list of patterns: an exact name, a glob with * and ?, a
	// regular expression behind "re:" that must match the whole name, and each
	// of these behind "!" to exclude. A namespace is selected if a pattern
	// selects it and none excludes it; with exclusions alone, all others are
	// selected. Blank items count for nothing. Empty: all.
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// namespaceSelector must match the labels of the namespace as well. Whoever
	// may label a namespace can move it in or out of such a scope.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// AdmissionConfiguration is about the objects that Holdfast writes into the API
// server.
type AdmissionConfiguration struct {
	// selfProtection is the mode of the rules that protect Holdfast's own
	// webhook configuration, CRDs and namespace, and what would let somebody act
	// with its identity: tokens, pods and bindings. Default: Enforce.
	// +optional
	SelfProtection Mode `json:"selfProtection,omitempty"`

	// webhookClients lets only clients with a certificate call the webhooks. API servers
	// present none unless they are configured to: docs/runbooks/webhook-port.md. Default:
	// every client that reaches the port is answered.
	// +optional
	WebhookClients WebhookClients `json:"webhookClients,omitzero"`
}

// WebhookClients are the clients that may call the webhooks.
type WebhookClients struct {
	// caFile is the absolute path of a file with the certificates, in PEM, of the
	// authorities that sign the clients' certificates. A change of the file is picked up.
	// If it cannot be read the last good state stays. Default: clients need no
	// certificate.
	// +optional
	CAFile string `json:"caFile,omitempty"`

	// commonNames are the common names of clients' certificates that count, for an
	// authority that signs certificates of others too. Default: all.
	// +optional
	CommonNames []string `json:"commonNames,omitempty"`
}

// CertificateProvider says who issues the serving certificate.
//
// +kubebuilder:validation:Enum=Holdfast;Secret
type CertificateProvider string

const (
	// CertificatesByHoldfast lets Holdfast issue and rotate its own.
	CertificatesByHoldfast CertificateProvider = "Holdfast"
	// CertificatesBySecret takes tls.crt, tls.key and ca.crt from a Secret
	// that something else keeps, as cert-manager does.
	CertificatesBySecret CertificateProvider = "Secret"
)

// CertificatesConfiguration is about the serving certificate of the webhooks.
type CertificatesConfiguration struct {
	// provider is Holdfast or Secret. Default: Holdfast.
	// +optional
	Provider CertificateProvider `json:"provider,omitempty"`

	// secretName is the Secret in Holdfast's namespace that holds the
	// certificate. It is fixed while Holdfast runs, and the Role holdfast-guard
	// must name it. Default: holdfast-guard-tls.
	// +optional
	SecretName string `json:"secretName,omitempty"`

	// validity of a serving certificate that Holdfast issues; it is renewed
	// after two thirds of it. At least 1m. Default: 2160h (90 days).
	// +optional
	Validity metav1.Duration `json:"validity,omitzero"`

	// authorityValidity is the same for the authority that signs it; it is
	// longer than validity. Default: 43800h (5 years).
	// +optional
	AuthorityValidity metav1.Duration `json:"authorityValidity,omitzero"`

	// overlap is how long a new authority is trusted before anything is signed
	// by it. More than 0s and less than a third of authorityValidity. Default:
	// 24h.
	// +optional
	Overlap metav1.Duration `json:"overlap,omitzero"`
}

// DeletionConfiguration is the guard against accidental deletion.
type DeletionConfiguration struct {
	// mode of its verdicts. Default: Enforce.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// scope narrows the global scope for this feature.
	// +optional
	Scope Scope `json:"scope,omitzero"`

	// labels says which upstream labels are read beside
	// holdfast.dev/deletion-protected, and how.
	// +optional
	Labels DeletionLabels `json:"labels,omitzero"`

	// workloadControllers are the user names of controllers beyond Kubernetes'
	// own, such as system:serviceaccount:kruise-system:kruise-manager. They count
	// as the cluster's own controllers do: although a template stamped the label
	// on them, they may delete the Pods, ReplicaSets, Jobs, ControllerRevisions,
	// ResourceClaims and EndpointSlices that a controller owns, and take the label
	// off these again.
	// +optional
	WorkloadControllers []string `json:"workloadControllers,omitempty"`

	// onOutage says what becomes of the deletion of a Namespace or a
	// CustomResourceDefinition that carries no mark while no replica of Holdfast
	// answers: Refuse, or Allow without having looked what hangs below. Default:
	// Refuse.
	// +optional
	OnOutage OutageRule `json:"onOutage,omitempty"`

	// overrides bounds DeletionOverrides.
	// +optional
	Overrides OverridesConfiguration `json:"overrides,omitzero"`
}

// OutageRule says what becomes of a request that no replica of Holdfast answers.
//
// +kubebuilder:validation:Enum=Refuse;Allow
type OutageRule string

const (
	// OutageRefuses refuses it.
	OutageRefuses OutageRule = "Refuse"
	// OutageAllows lets it pass.
	OutageAllows OutageRule = "Allow"
)

// OverridesConfiguration bounds DeletionOverrides.
type OverridesConfiguration struct {
	// maxDuration that an override may ask for: between 1s and 24h. Default: 1h.
	// +optional
	MaxDuration metav1.Duration `json:"maxDuration,omitzero"`

	// approval says whether a second person must consent. Default: NotRequired.
	// +optional
	Approval ApprovalRule `json:"approval,omitempty"`
}

// ApprovalRule says whether a second person must consent.
//
// +kubebuilder:validation:Enum=NotRequired;Required
type ApprovalRule string

const (
	// ApprovalNotRequired lets whoever may unprotect the target ask, and puts the
	// override in force at once.
	ApprovalNotRequired ApprovalRule = "NotRequired"
	// ApprovalRequired lets anyone ask who may create overrides; a second person
	// who may unprotect the target must consent.
	ApprovalRequired ApprovalRule = "Required"
)

// DeletionLabels says which upstream labels are read, and how.
type DeletionLabels struct {
	// karmada is resourcetemplate.karmada.io/deletion-protected. Default: Open.
	// +optional
	Karmada LabelRule `json:"karmada,omitempty"`
	// kruise is policy.kruise.io/delete-protection. Default: Open.
	// +optional
	Kruise LabelRule `json:"kruise,omitempty"`
}

// LabelRule says how an upstream label is read.
//
// +kubebuilder:validation:Enum=Ignore;Open;Strict
type LabelRule string

const (
	// LabelIgnored does not read the label.
	LabelIgnored LabelRule = "Ignore"
	// LabelOpen protects from deletion; whoever may edit the object may take
	// the label away, as upstream.
	LabelOpen LabelRule = "Open"
	// LabelStrict protects from deletion, and taking the label away needs the
	// right to unprotect.
	LabelStrict LabelRule = "Strict"
)
