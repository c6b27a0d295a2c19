// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/specs"
)

// policySet are the EvictionPolicies, compiled, on every replica.
type policySet struct {
	// changed is told when a policy came, went or became another.
	changed func(name string)

	mu     sync.RWMutex
	byName map[string]compiled
	// inForce are those that compile, in their order; replaced, never changed.
	inForce []*policy.Policy
}

type compiled struct {
	policy   *policy.Policy
	problems field.ErrorList
}

func newPolicySet(changed func(name string)) *policySet {
	return &policySet{changed: changed, byName: map[string]compiled{}}
}

// follow keeps the set in line with the cache, and returns whether all policies are
// known.
func (s *policySet) follow(ctx context.Context, c cache.Cache) (func() bool, error) {
	return specs.Follow(ctx, c, &v1alpha1.EvictionPolicy{}, s.put, func(in *v1alpha1.EvictionPolicy) { s.set(in.Name, nil) })
}

func (s *policySet) put(in *v1alpha1.EvictionPolicy) {
	p, problems := policy.Compile(in)
	s.set(in.Name, &compiled{p, problems})
}

// set replaces a policy, or takes it away.
func (s *policySet) set(name string, c *compiled) {
	s.mu.Lock()
	if c == nil {
		delete(s.byName, name)
	} else {
		s.byName[name] = *c
	}
	var all []*policy.Policy
	for _, c := range s.byName {
		if c.policy != nil {
			all = append(all, c.policy)
		}
	}
	policy.Sort(all)
	s.inForce = all
	s.mu.Unlock()
	s.changed(name)
}

// all are the policies in force, in their order.
func (s *policySet) all() []*policy.Policy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.inForce
}

// get returns a policy and what is wrong with it; neither for one that is unknown.
func (s *policySet) get(name string) (*policy.Policy, field.ErrorList) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.byName[name]
	return c.policy, c.problems
}

// names of all policies, valid or not, sorted.
func (s *policySet) names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]string, 0, len(s.byName))
	for name := range s.byName {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
