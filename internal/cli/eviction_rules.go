// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	deletion "github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// evictionRules are what Holdfast decides about evictions by.
type evictionRules struct {
	config   *configv1alpha1.HoldfastConfiguration
	settings policy.Settings
	// scope is that of evictions and global the one of all features, which scope
	// is narrower than; deletion is that of the deletion guard.
	scope, global, deletion scope.Scope
	// broken names the policies that are not in force because of mistakes.
	broken []string
}

// newEvictionRules reads the configuration that Holdfast says is in force, and
// compiles the policies. No configuration is every default. Fields that this
// version does not know are passed over, so that an older plugin is of use.
func newEvictionRules(configuration string, policies []v1alpha1.EvictionPolicy) (evictionRules, error) {
	r := evictionRules{config: &configv1alpha1.HoldfastConfiguration{}}
	if err := yaml.Unmarshal([]byte(configuration), r.config); err != nil {
		return r, fmt.Errorf("read the configuration in force, which Holdfast wrote to the status of holdfasts.%s/%s: %w",
			v1alpha1.GroupName, v1alpha1.HoldfastName, err)
	}
	configv1alpha1.SetDefaults(r.config)
	var err error
	for _, s := range []struct {
		to  *scope.Scope
		own []configv1alpha1.Scope
	}{
		{&r.global, []configv1alpha1.Scope{r.config.Scope}},
		{&r.scope, []configv1alpha1.Scope{r.config.Scope, r.config.Eviction.Scope}},
		{&r.deletion, []configv1alpha1.Scope{r.config.Scope, r.config.Deletion.Scope}},
	} {
		if *s.to, err = scope.Compile(s.own...); err != nil {
			return r, fmt.Errorf("read the scope in force: %w", err)
		}
	}
	var inForce []*policy.Policy
	for i := range policies {
		p, problems := policy.Compile(&policies[i])
		if len(problems) > 0 {
			r.broken = append(r.broken, fmt.Sprintf("EvictionPolicy %s is not in force: %v", policies[i].Name, problems.ToAggregate()))
			continue
		}
		inForce = append(inForce, p)
	}
	policy.Sort(inForce)
	r.settings = policy.NewSettings(r.config.Eviction, inForce)
	return r, nil
}

// idle says why nothing could come of asking Holdfast about evictions; "" if
// something could.
func (r evictionRules) idle() string {
	switch s := r.settings; {
	case s.Mode == configv1alpha1.ModeOff:
		return "the eviction mode of Holdfast is Off"
	case !s.DrainCleaner.Enabled && !s.RefuseProtected && len(s.Policies)+len(r.broken) == 0:
		return "there is no EvictionPolicy, and the rules of the Strimzi Drain Cleaner are off"
	}
	return ""
}

// heldBy is what decides on an eviction.
type heldBy struct {
	// Kind is EvictionPolicy, DrainCleaner, Protection, PodDisruptionBudget, RBAC, or
	// empty for nothing.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// What can decide on an eviction.
const (
	byPolicy       = "EvictionPolicy"
	byDrainCleaner = "DrainCleaner"
	byProtection   = "Protection"
	byBudget       = "PodDisruptionBudget"
	byRBAC         = "RBAC"
)

func (h heldBy) String() string {
	switch h.Kind {
	case "":
		return "nothing"
	case byDrainCleaner:
		return "Strimzi Drain Cleaner"
	case byProtection:
		return "deletion protection"
	}
	if h.Name == "" {
		return h.Kind
	}
	return h.Kind + " " + h.Name
}

func decider(v policy.Verdict) heldBy {
	switch {
	case v.Policy != "":
		return heldBy{Kind: byPolicy, Name: v.Policy}
	case v.DrainCleaner:
		return heldBy{Kind: byDrainCleaner}
	case v.Outcome == policy.OutcomeProtected:
		return heldBy{Kind: byProtection}
	}
	return heldBy{}
}

// judged is what Holdfast makes of an eviction.
type judged struct {
	inScope bool
	// verdict counts only in scope.
	verdict policy.Verdict
	// trials are those that match and do not decide because of their mode, and later
	// those that come later.
	trials []heldBy
	later  []heldBy
	// protection is what the deletion guard would say to deleting the pod; "" for
	// nothing.
	protection string
}

// judge asks the rules about an eviction of a pod. The facts have all but the
// metadata and the protection.
func (r evictionRules) judge(f policy.Facts) judged {
	f.Meta = &f.Pod.ObjectMeta
	out := judged{
		inScope:    r.scope.Matches(f.Pod.Namespace, f.Namespace.Labels),
		protection: deletion.ProtectsPod(r.config.Deletion, r.deletion, f.Namespace, f.Meta),
		verdict:    policy.Verdict{Mode: r.settings.Mode, Outcome: policy.OutcomeNone, Allowed: true},
	}
	if !out.inScope {
		return out
	}
	f.Protection = &out.protection
	out.verdict = policy.Decide(r.settings, f)
	out.trials = deciders(out.verdict.Trials)
	for rest, ok := r.settings.After(out.verdict); ok; {
		v := policy.Decide(rest, f)
		out.trials = append(out.trials, deciders(v.Trials)...)
		if by := decider(v); by.Kind != "" {
			out.later = append(out.later, by)
		}
		rest, ok = rest.After(v)
	}
	return out
}

func deciders(all []policy.Verdict) []heldBy {
	var out []heldBy
	for _, v := range all {
		out = append(out, decider(v))
	}
	return out
}

// bareNamespace stands in for a namespace that cannot be read.
func bareNamespace(name string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}
}
