// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// enforcement is what the API server makes of the rules: which policies it has,
// and what it does with their verdicts. The configuration file is the manager's
// and cannot be read from here; what it asks for shows in the policies. Only the
// workload controllers in it do not show, and they never are people.
type enforcement struct {
	// Problem says why the policies could not be read. Then all labels are
	// assumed to be read, and all verdicts to be enforced.
	Problem string
	// Installed are the policies that are bound, by name.
	Installed map[string]installedPolicy
	// Scope is that of the deletion guard where patterns narrow it, as Holdfast's
	// status says; nil where there are none, or it cannot be read.
	Scope *scope.Scope
}

type installedPolicy struct {
	Mode configv1alpha1.Mode
	// Namespaces is the selector that narrows the policy; nil is everywhere.
	Namespaces *metav1.LabelSelector
	// Conditional is set where patterns narrow it too, as match conditions.
	Conditional bool
}

// enforcement reads the policies and their bindings.
func (c *clients) enforcement(ctx context.Context) enforcement {
	config, err := c.Config()
	if err != nil {
		return enforcement{Problem: err.Error()}
	}
	client, err := admissionclient.NewForConfig(config)
	if err != nil {
		return enforcement{Problem: err.Error()}
	}
	var (
		policies              *admissionregistrationv1.ValidatingAdmissionPolicyList
		bindings              *admissionregistrationv1.ValidatingAdmissionPolicyBindingList
		policyErr, bindingErr error
		both                  sync.WaitGroup
	)
	both.Go(func() { policies, policyErr = client.ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{}) })
	both.Go(func() {
		bindings, bindingErr = client.ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	})
	both.Wait()
	for _, err := range []error{policyErr, bindingErr} {
		if apierrors.IsForbidden(err) {
			return enforcement{Problem: "you may not list validatingadmissionpolicies and their bindings"}
		}
		if err != nil {
			return enforcement{Problem: err.Error()}
		}
	}
	e := readEnforcement(policies.Items, bindings.Items)
	if e.conditional() {
		e.Scope = c.deletionScope(ctx)
	}
	return e
}

// deletionScope returns the scope in which the status of Holdfast says that deletions are guarded; nil where it cannot
// be read.
func (c *clients) deletionScope(ctx context.Context) *scope.Scope {
	client, err := c.Dynamic()
	if err != nil {
		return nil
	}
	h, err := connect.Holdfast(ctx, client)
	if err != nil {
		return nil
	}
	inForce, err := connect.InForce(h)
	if inForce == nil || err != nil {
		return nil
	}
	s, err := scope.Compile(inForce.Scope, inForce.Deletion.Scope)
	if err != nil {
		return nil
	}
	return &s
}

func readEnforcement(policies []admissionregistrationv1.ValidatingAdmissionPolicy, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) enforcement {
	e := enforcement{Installed: map[string]installedPolicy{}}
	for i := range policies {
		p := &policies[i]
		j := slices.IndexFunc(bindings, func(b admissionregistrationv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Name == p.Name && b.Spec.PolicyName == p.Name
		})
		if j < 0 {
			continue // without a binding a policy does nothing
		}
		installed := installedPolicy{
			Mode:        modeOf(bindings[j].Spec.ValidationActions),
			Conditional: len(p.Spec.MatchConditions) > 0,
		}
		if p.Spec.MatchConstraints != nil {
			installed.Namespaces = p.Spec.MatchConstraints.NamespaceSelector
		}
		e.Installed[p.Name] = installed
	}
	return e
}

// modeOf is the mode that a binding was written for.
func modeOf(actions []admissionregistrationv1.ValidationAction) configv1alpha1.Mode {
	switch {
	case slices.Contains(actions, admissionregistrationv1.Deny):
		return configv1alpha1.ModeEnforce
	case slices.Contains(actions, admissionregistrationv1.Warn):
		return configv1alpha1.ModeWarn
	case slices.Contains(actions, admissionregistrationv1.Audit):
		return configv1alpha1.ModeAudit
	}
	return configv1alpha1.ModeOff
}

// allRules are all that Holdfast can be told to follow.
func allRules() policy.Rules {
	return policy.NewRules(configv1alpha1.DeletionConfiguration{Labels: configv1alpha1.DeletionLabels{
		Karmada: configv1alpha1.LabelOpen,
		Kruise:  configv1alpha1.LabelOpen,
	}})
}

// allKeys are the labels and the marks that Holdfast can read.
func allKeys() []policy.Key { return allRules().Keys }

// labelKeys are the labels that people set.
func labelKeys() []policy.Key { return allRules().Labels() }

// rules are the rules in force: an upstream label is read where its policy is
// installed, and strict where there is one against taking it away.
func (e enforcement) rules() policy.Rules {
	keys := allKeys()
	if e.Problem != "" {
		return policy.Rules{Keys: keys}
	}
	var inForce []policy.Key
	for _, k := range keys {
		if _, ok := e.Installed[k.PolicyName(policy.RuleDelete)]; !ok {
			continue
		}
		_, strict := e.Installed[k.PolicyName(policy.RuleUnprotect)]
		k.Strict = k.Strict || strict
		inForce = append(inForce, k)
	}
	return policy.Rules{Keys: inForce}
}

// mode of a rule for a label; Off where the API server does not have it.
func (e enforcement) mode(r policy.Rule, k policy.Key) configv1alpha1.Mode {
	return e.policyMode(k.PolicyName(r))
}

// policyMode is the mode of a policy; Off where the API server does not have it.
func (e enforcement) policyMode(name string) configv1alpha1.Mode {
	if e.Problem != "" {
		return configv1alpha1.ModeEnforce
	}
	if p, ok := e.Installed[name]; ok {
		return p.Mode
	}
	return configv1alpha1.ModeOff
}

// place is where an object is, for policies that hold in some namespaces only.
type place struct {
	// Namespaced is false for cluster-scoped objects, which are in every scope.
	Namespaced bool
	// Labels are those of the namespace; for a Namespace object its own.
	Labels map[string]string
}

// holds says whether a rule for a label is in force at a place.
func (e enforcement) holds(r policy.Rule, k policy.Key, at place) (bool, error) {
	return e.holdsAt(k.PolicyName(r), at)
}

// holdsAt reports whether a policy is in force at a place.
func (e enforcement) holdsAt(name string, at place) (bool, error) {
	p, ok := e.Installed[name]
	switch {
	case !ok || !at.Namespaced:
		return true, nil
	case p.Conditional && e.Scope != nil:
		return e.Scope.Matches(at.Labels[corev1.LabelMetadataName], at.Labels), nil
	case p.Namespaces == nil:
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(p.Namespaces)
	if err != nil {
		return true, fmt.Errorf("read the namespace selector of %s: %w", name, err)
	}
	return selector.Matches(labels.Set(at.Labels)), nil
}

// narrowed says whether any policy holds in some namespaces only.
func (e enforcement) narrowed() bool {
	if e.Scope != nil {
		return true
	}
	for _, p := range e.Installed {
		if p.Namespaces != nil && len(p.Namespaces.MatchLabels)+len(p.Namespaces.MatchExpressions) > 0 {
			return true
		}
	}
	return false
}

// conditional reports whether patterns narrow a policy that protects, and cannot be evaluated here.
func (e enforcement) conditional() bool {
	if e.Scope != nil {
		return false
	}
	for _, k := range allKeys() {
		if e.Installed[k.PolicyName(policy.RuleDelete)].Conditional {
			return true
		}
	}
	return false
}

// placeOf an object whose namespace has these labels; nil where they are not
// known, and then only the name stands in for them.
func placeOf(r schema.GroupResource, o *metav1.PartialObjectMetadata, namespaceLabels map[string]string) place {
	switch {
	case r == namespacesKind.GroupResource():
		return place{Namespaced: true, Labels: o.Labels}
	case o.Namespace == "":
		return place{}
	case namespaceLabels == nil:
		return place{Namespaced: true, Labels: map[string]string{corev1.LabelMetadataName: o.Namespace}}
	}
	return place{Namespaced: true, Labels: namespaceLabels}
}
