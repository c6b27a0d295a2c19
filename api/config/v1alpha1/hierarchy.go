// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// HierarchyConfiguration is the trees of namespaces.
type HierarchyConfiguration struct {
	// mode of its verdicts. In every mode but Off the trees are kept: namespaces get
	// their labels, and copies are made. It needs the rights in config/rbac/hierarchy.yaml;
	// HNC's kinds the manager brings itself, unless --apply-crds=false says otherwise.
	// Default: Off.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// standBy follows the trees without writing anything or refusing any request, so
	// that another controller can go before Holdfast takes over. Default: false.
	// +optional
	StandBy bool `json:"standBy,omitempty"`

	// excludedNamespaces are names of namespaces that are in no tree. The one that
	// Holdfast runs in and config-management-system always are. The flag --excluded-namespace goes before it, and
	// the HNCConfiguration can add others. Default: kube-system, kube-public,
	// kube-node-lease and hnc-system.
	// +optional
	ExcludedNamespaces []string `json:"excludedNamespaces,omitempty"`

	// reservedNamespaces are names and patterns, as in scope.namespaces, of namespaces that no
	// anchor creates: users who may create anchors in one namespace could otherwise prepare a
	// namespace that an add-on trusts later. Always reserved are kube-*, hnc-system,
	// config-management-system and the namespace that Holdfast runs in. Default: *-system and
	// well-known names of add-ons.
	// +optional
	ReservedNamespaces []string `json:"reservedNamespaces,omitempty"`

	// includedNamespaces is a regular expression for whole names: other namespaces
	// are in no tree. The flag --included-namespace-regex goes before it. Empty: all.
	// +optional
	IncludedNamespaces string `json:"includedNamespaces,omitempty"`

	// managedLabels and managedAnnotations are regular expressions for whole keys:
	// such labels and annotations of namespaces are set for whole subtrees, in
	// HierarchyConfigurations and anchors, and taken away where nothing sets them. Keys
	// that bound what users may do, such as pod-security.kubernetes.io/enforce, never are.
	// The flags --managed-namespace-label and --managed-namespace-annotation go
	// before them. Default: none.
	// +optional
	ManagedLabels []string `json:"managedLabels,omitempty"`
	// +optional
	ManagedAnnotations []string `json:"managedAnnotations,omitempty"`

	// strippedLabels and strippedAnnotations are keys that copies do not have. The
	// flags --unpropagated-label and --unpropagated-annotation go before them.
	// Default: none.
	// +optional
	StrippedLabels []string `json:"strippedLabels,omitempty"`
	// +optional
	StrippedAnnotations []string `json:"strippedAnnotations,omitempty"`

	// uncopiedLabels are labels, as key=value, of objects that are never copied. The
	// flag --nopropagation-label goes before it. Default: cattle.io/creator=norman.
	// +optional
	UncopiedLabels []string `json:"uncopiedLabels,omitempty"`

	// brake bounds how many copies may go at once because what they were copied from
	// is not there any more.
	// +optional
	Brake BrakeConfiguration `json:"brake,omitzero"`
}

// BrakeConfiguration bounds how many copies may go at once. Copies go without
// asking when somebody deletes what they were copied from, one object after the
// other, or says on it that they are not to be there, or sets the mode of their kind
// to Remove. When they would go for another reason, such as a whole subtree that has
// moved, and more would go than both bounds allow, nothing goes until somebody
// consents.
type BrakeConfiguration struct {
	// percent of all copies. 100 never brakes, and lets go what waits. Default: 25.
	// +optional
	Percent *int32 `json:"percent,omitempty"`
	// minimum is how many copies may always go. Default: 50.
	// +optional
	Minimum *int32 `json:"minimum,omitempty"`
}

const (
	// DefaultBrakePercent is how many of all copies may go at once.
	DefaultBrakePercent = 25
	// DefaultBrakeMinimum is how many copies may always go at once.
	DefaultBrakeMinimum = 50
)

// DefaultExcludedNamespaces are those of seed 004.
var DefaultExcludedNamespaces = []string{"kube-system", "kube-public", "kube-node-lease", "hnc-system"}

// DefaultReservedNamespaces are the namespaces of add-ons that many clusters have.
var DefaultReservedNamespaces = []string{
	"*-system", "argocd", "cattle-*", "cert-manager", "external-dns", "external-secrets", "gke-*", "gmp-*", "gpu-operator", "holdfast", "ingress-nginx",
	"istio-*", "kubernetes-dashboard", "kyverno", "monitoring", "openshift-*", "rook-ceph", "tigera-operator", "vault", "velero",
}

// DefaultUncopiedLabels are those that HNC is installed with.
var DefaultUncopiedLabels = []string{"cattle.io/creator=norman"}
