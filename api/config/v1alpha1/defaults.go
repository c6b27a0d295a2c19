// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultSecretName is the Secret of the serving certificate.
	DefaultSecretName = "holdfast-guard-tls"
	// DefaultValidity is how long a serving certificate is valid.
	DefaultValidity = 90 * 24 * time.Hour
	// DefaultAuthorityValidity is how long the authority is valid.
	DefaultAuthorityValidity = 5 * 365 * 24 * time.Hour
	// DefaultOverlap is how long a new authority is trusted before it signs.
	DefaultOverlap = 24 * time.Hour
	// DefaultMaxOverride is how long an override may be in force.
	DefaultMaxOverride = time.Hour
	// DefaultRenderTimeout is how long kustomize may take for one RootSync.
	DefaultRenderTimeout = time.Minute
)

// SetDefaults fills every field that is empty and has a default. A duration of
// zero counts as empty. Done twice, it does nothing more than done once.
func SetDefaults(c *HoldfastConfiguration) {
	c.APIVersion = cmp.Or(c.APIVersion, GroupVersion)
	c.Kind = cmp.Or(c.Kind, Kind)

	c.Admission.SelfProtection = cmp.Or(c.Admission.SelfProtection, ModeEnforce)

	c.Certificates.Provider = cmp.Or(c.Certificates.Provider, CertificatesByHoldfast)
	c.Certificates.SecretName = cmp.Or(c.Certificates.SecretName, DefaultSecretName)
	c.Certificates.Validity = cmp.Or(c.Certificates.Validity, metav1.Duration{Duration: DefaultValidity})
	c.Certificates.AuthorityValidity = cmp.Or(c.Certificates.AuthorityValidity, metav1.Duration{Duration: DefaultAuthorityValidity})
	c.Certificates.Overlap = cmp.Or(c.Certificates.Overlap, metav1.Duration{Duration: DefaultOverlap})

	c.Deletion.Mode = cmp.Or(c.Deletion.Mode, ModeEnforce)
	c.Deletion.Labels.Karmada = cmp.Or(c.Deletion.Labels.Karmada, LabelOpen)
	c.Deletion.Labels.Kruise = cmp.Or(c.Deletion.Labels.Kruise, LabelOpen)
	c.Deletion.OnOutage = cmp.Or(c.Deletion.OnOutage, OutageRefuses)
	c.Deletion.Overrides.MaxDuration = cmp.Or(c.Deletion.Overrides.MaxDuration, metav1.Duration{Duration: DefaultMaxOverride})
	c.Deletion.Overrides.Approval = cmp.Or(c.Deletion.Overrides.Approval, ApprovalNotRequired)

	setEvictionDefaults(&c.Eviction)
	setHierarchyDefaults(&c.Hierarchy)
	if c.RootSync.Claims == nil {
		c.RootSync.Claims = new(true)
	}
	c.RootSync.RenderTimeout = cmp.Or(c.RootSync.RenderTimeout, metav1.Duration{Duration: DefaultRenderTimeout})
	setServiceAccountsDefaults(&c.ServiceAccounts)
}

func setEvictionDefaults(e *EvictionConfiguration) {
	e.Mode = cmp.Or(e.Mode, ModeEnforce)
	e.Filter = cmp.Or(e.Filter, FilterHandler)
	e.Pods = cmp.Or(e.Pods, PodsRead)
	e.OnOutage = cmp.Or(e.OnOutage, OutageAllows)
	e.ProtectedPods = cmp.Or(e.ProtectedPods, ProtectedPodsAllowed)
	for _, flag := range []**bool{
		&e.DrainCleaner.Enabled, &e.DrainCleaner.Kafka, &e.DrainCleaner.ZooKeeper, &e.DrainCleaner.DenyEviction,
	} {
		if *flag == nil {
			*flag = new(true)
		}
	}
}

func setHierarchyDefaults(h *HierarchyConfiguration) {
	h.Mode = cmp.Or(h.Mode, ModeOff)
	if h.ExcludedNamespaces == nil {
		h.ExcludedNamespaces = slices.Clone(DefaultExcludedNamespaces)
	}
	if h.ReservedNamespaces == nil {
		h.ReservedNamespaces = slices.Clone(DefaultReservedNamespaces)
	}
	if h.UncopiedLabels == nil {
		h.UncopiedLabels = slices.Clone(DefaultUncopiedLabels)
	}
	if h.Brake.Percent == nil {
		h.Brake.Percent = new(int32(DefaultBrakePercent))
	}
	if h.Brake.Minimum == nil {
		h.Brake.Minimum = new(int32(DefaultBrakeMinimum))
	}
}

func setServiceAccountsDefaults(s *ServiceAccountsConfiguration) {
	s.Mode = cmp.Or(s.Mode, ServiceAccountsOff)
	s.Existing = cmp.Or(s.Existing, ExistingApply)
	s.Identities = cmp.Or(s.Identities, IdentitiesOwned)
	if s.Strimzi.LabelsExclusionPattern == nil {
		s.Strimzi.LabelsExclusionPattern = new(DefaultLabelsExclusionPattern)
	}
}
