// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
)

// The names under which others are known.
const (
	karmadaHook  = "resourcedeletionprotection.karmada.io"
	kruiseHooks  = "kruise-validating-webhook-configuration"
	configSync   = "reconciler-manager"
	strimziGates = "STRIMZI_FEATURE_GATES"
	patchingGate = "ServiceAccountPatching"
)

// hook is a webhook of anybody.
type hook struct {
	// in is the configuration, as kubectl names it.
	kind, in, name string
	rules          []admissionregistrationv1.RuleWithOperations
	closed         bool
}

func (h hook) String() string { return h.kind + "/" + h.in }

func isHoldfasts(c admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	return c.Name == admission.WebhookConfigurationName
}

// hooks are all webhooks but Holdfast's.
func hooks(f *facts) []hook {
	var out []hook
	closed := func(p *admissionregistrationv1.FailurePolicyType) bool {
		return ptr.Deref(p, admissionregistrationv1.Fail) == admissionregistrationv1.Fail
	}
	for i := range f.validating {
		c := &f.validating[i]
		if isHoldfasts(*c) || c.Labels[admission.ManagedByLabel] == admission.ManagedByValue {
			continue
		}
		for j := range c.Webhooks {
			w := &c.Webhooks[j]
			out = append(out, hook{"validatingwebhookconfiguration", c.Name, w.Name, w.Rules, closed(w.FailurePolicy)})
		}
	}
	for i := range f.mutating {
		c := &f.mutating[i]
		if c.Labels[admission.ManagedByLabel] == admission.ManagedByValue {
			continue
		}
		for j := range c.Webhooks {
			w := &c.Webhooks[j]
			out = append(out, hook{"mutatingwebhookconfiguration", c.Name, w.Name, w.Rules, closed(w.FailurePolicy)})
		}
	}
	return out
}

// finder collects what others do. What clashes is a problem only where the feature of
// Holdfast is on.
type finder struct {
	*facts
	by  *configv1alpha1.HoldfastConfiguration
	out []Finding
}

func (f *finder) clash(on bool, message, remedy string) {
	level := Warning
	if on && f.holdfast != nil {
		level = Problem
	}
	f.out = append(f.out, Finding{Others, level, message, remedy})
}

func (f *finder) note(message, remedy string) {
	f.out = append(f.out, Finding{Others, Note, message, remedy})
}

// others says who else guards the cluster, or keeps what Holdfast would keep.
func others(in *facts, by *configv1alpha1.HoldfastConfiguration) []Finding {
	f := &finder{facts: in, by: by}
	var rest []hook
	for _, h := range hooks(in) {
		if !f.known(h) {
			rest = append(rest, h)
		}
	}
	f.hncs()
	for i := range f.deployments {
		f.operator(&f.deployments[i])
	}
	for _, h := range rest {
		if what := same(h.rules); what != "" {
			how := "and lets requests pass where it does not answer"
			if h.closed {
				how = "and where it does not answer they are refused"
			}
			f.note(fmt.Sprintf("the API server asks %s, webhook %s, about %s too, %s", h, h.name, what, how), "")
		}
	}
	return f.out
}

// known tells of a webhook of somebody whom Holdfast knows.
func (f *finder) known(h hook) bool {
	switch {
	case h.name == policy.DrainCleanerWebhook:
		f.clash(f.by.Eviction.Mode != configv1alpha1.ModeOff && ptr.Deref(f.by.Eviction.DrainCleaner.Enabled, true),
			"the Strimzi Drain Cleaner answers for evictions: "+h.String(), "docs/guides/from-the-strimzi-drain-cleaner.md")
	case h.name == policy.Webhook:
		f.clash(true, "another Holdfast answers for evictions: "+h.String(), "uninstall one of them: there can be one in a cluster")
	case h.name == karmadaHook:
		f.note("Karmada guards deletions too: "+h.String(), "Holdfast reads its label; when it guards, this webhook can go")
	case h.in == kruiseHooks:
		if !slices.ContainsFunc(f.out, func(o Finding) bool { return strings.HasPrefix(o.Message, "OpenKruise") }) {
			f.note("OpenKruise guards deletions too: "+h.String(), "where Holdfast reads its label, turn off OpenKruise's feature gate ResourcesDeletionProtection")
		}
	default:
		return strings.HasSuffix(h.name, ".hnc.x-k8s.io") // hncs tells of those
	}
	return true
}

func (f *finder) hncs() {
	for _, d := range f.hnc.Deployments {
		if d.Wanted > 0 || d.Running > 0 {
			f.clash(f.by.Hierarchy.Mode != configv1alpha1.ModeOff && !f.by.Hierarchy.StandBy,
				fmt.Sprintf("HNC keeps trees of namespaces: Deployment %s/%s", d.Namespace, d.Name), "kubectl holdfast adopt hnc")
		}
	}
	for _, w := range f.hnc.Webhooks {
		if w.AnsweredBy() == "" {
			f.clash(true, fmt.Sprintf("HNC has left a %s behind, and nobody answers for it: %s", w.Kind, w.Name), "kubectl holdfast adopt hnc")
		}
	}
}

// operator tells of one that runs, by its Deployment.
func (f *finder) operator(d *appsv1.Deployment) {
	at := d.Namespace + "/" + d.Name
	switch {
	case ptr.Deref(d.Spec.Replicas, 1) == 0 && d.Status.Replicas == 0:
	case d.Namespace == object.SyncNamespace && d.Name == configSync:
		f.clash(slices.Contains(f.deploymentsOfHoldfast(), syncDeployment), "Config Sync runs: Deployment "+at, "docs/guides/from-config-sync.md")
	case !strimzis(d):
	case patches(d):
		f.clash(f.by.ServiceAccounts.Mode == configv1alpha1.ServiceAccountsEnforce,
			fmt.Sprintf("Strimzi's operator patches service accounts itself: Deployment %s has the feature gate %s", at, patchingGate), "turn that gate off there, or leave its kinds to it")
	default:
		f.note("Strimzi's operator runs, to which Holdfast yields key by key: Deployment "+at, "")
	}
}

// strimzis says whether a Deployment runs Strimzi's operator, by its pods.
func strimzis(d *appsv1.Deployment) bool {
	selector, err := labels.Parse(builtin.StrimziOperator)
	return err == nil && selector.Matches(labels.Set(d.Spec.Template.Labels))
}

// patches says whether Strimzi's operator has its own feature gate on.
func patches(d *appsv1.Deployment) bool {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == strimziGates && slices.Contains(strings.Split(strings.ReplaceAll(e.Value, " ", ""), ","), "+"+patchingGate) {
				return true
			}
		}
	}
	return false
}

// same says what of Holdfast's work a webhook is asked about too; "" for nothing.
func same(rules []admissionregistrationv1.RuleWithOperations) string {
	var out []string
	add := func(what string, operation admissionregistrationv1.OperationType, group, resource string) {
		if slices.ContainsFunc(rules, func(r admissionregistrationv1.RuleWithOperations) bool { return covers(r, operation, group, resource) }) {
			out = append(out, what)
		}
	}
	switch anything := "any resource"; {
	case slices.ContainsFunc(rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return covers(r, admissionregistrationv1.Delete, "*", "*")
	}):
		out = append(out, "deletes of "+anything)
	default:
		add("deletes of namespaces", admissionregistrationv1.Delete, "", "namespaces")
		add("deletes of CustomResourceDefinitions", admissionregistrationv1.Delete, "apiextensions.k8s.io", "customresourcedefinitions")
	}
	add("evictions", admissionregistrationv1.Create, "", "pods/eviction")
	return strings.Join(out, " and ")
}

// covers says whether a rule is about an operation on a resource; "*" asks for all of them.
func covers(r admissionregistrationv1.RuleWithOperations, operation admissionregistrationv1.OperationType, group, resource string) bool {
	main, sub, _ := strings.Cut(resource, "/")
	names := []string{"*/*", resource}
	if sub == "" {
		names = append(names, "*")
	} else {
		names = append(names, main+"/*", "*/"+sub)
	}
	has := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(names, s) })
	}
	return (slices.Contains(r.Operations, admissionregistrationv1.OperationAll) || slices.Contains(r.Operations, operation)) &&
		has(r.APIGroups, "*", group) && has(r.Resources, names...)
}
