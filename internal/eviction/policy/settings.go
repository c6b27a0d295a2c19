// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// DrainCleanerWebhook is the name of the Strimzi Drain Cleaner's webhook, which
	// is part of every refusal that its users see.
	DrainCleanerWebhook = "strimzi-drain-cleaner.strimzi.io"
	// Webhook is the name of Holdfast's where the Drain Cleaner's rules are off.
	Webhook = "eviction.holdfast.dev"
)

// NewSettings are what a configuration and the policies say. The policies are in
// the order of Sort.
func NewSettings(c configv1alpha1.EvictionConfiguration, policies []*Policy) Settings {
	return Settings{
		Mode:     c.Mode,
		Policies: policies,
		DrainCleaner: DrainCleaner{
			Enabled: ptr.Deref(c.DrainCleaner.Enabled, true), Deny: ptr.Deref(c.DrainCleaner.DenyEviction, true),
			Kafka: ptr.Deref(c.DrainCleaner.Kafka, true), ZooKeeper: ptr.Deref(c.DrainCleaner.ZooKeeper, true),
		},
		RefuseProtected: c.ProtectedPods == configv1alpha1.ProtectedPodsRefused,
	}
}

// After are the settings without what gave a verdict and all that comes before
// it, and false if nothing comes after: what they decide is what else matches.
func (s Settings) After(v Verdict) (Settings, bool) {
	switch {
	case v.Outcome == OutcomeProtected:
		s.RefuseProtected = false
		return s, true
	case v.Policy == "":
		return Settings{}, false
	}
	i := slices.IndexFunc(s.Policies, func(p *Policy) bool { return p.Name == v.Policy })
	s.RefuseProtected, s.Policies = false, s.Policies[i+1:]
	return s, true
}

// Policy returns the policy with a name, nil if there is none.
func (s Settings) Policy(name string) *Policy {
	i := slices.IndexFunc(s.Policies, func(p *Policy) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return s.Policies[i]
}

// Bound is what ends a policy's hold on a pod, beside the operator that moves it.
type Bound struct {
	// Until is the condition that does, as it was written; empty for none.
	Until string
	// Deadline is how long the policy holds it; 0 for as long as it takes. Then says
	// what becomes of the eviction after that.
	Deadline time.Duration
	Then     v1alpha1.OverdueVerdict
}

// Bound of the policy.
func (p *Policy) Bound() Bound {
	return Bound{Until: p.verdict.Until, Deadline: p.deadline, Then: p.overdue}
}
