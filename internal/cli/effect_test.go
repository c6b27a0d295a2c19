// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

const (
	strictLabel  = v1alpha1.DeletionProtectedLabel
	karmadaLabel = v1alpha1.KarmadaDeletionProtectedLabel
	kruiseLabel  = v1alpha1.KruiseDeletionProtectionLabel
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	pods       = schema.GroupResource{Resource: "pods"}
	endpoints  = schema.GroupResource{Resource: "endpoints"}
	policies   = schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}
)

// inMode is an enforcement with all policies in one mode.
func inMode(mode configv1alpha1.Mode) enforcement {
	e := enforcement{Installed: map[string]installedPolicy{}}
	for _, k := range allKeys() {
		e.Installed[k.PolicyName(policy.RuleDelete)] = installedPolicy{Mode: mode}
		if k.Strict {
			e.Installed[k.PolicyName(policy.RuleUnprotect)] = installedPolicy{Mode: mode}
		}
	}
	return e
}

func keyOf(label string) policy.Key {
	for _, k := range allKeys() {
		if k.Label == label {
			return k
		}
	}
	return policy.Key{}
}

func labelled(label, value string, change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "1", Labels: map[string]string{label: value, v1alpha1.MarkedLabel: "1"},
	}}
	for _, f := range change {
		f(o)
	}
	return o
}

func byController(o *metav1.PartialObjectMetadata) {
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
}

func overridden(o *metav1.PartialObjectMetadata) { o.Labels[v1alpha1.OverrideMark] = "x" }

func stray(o *metav1.PartialObjectMetadata) { o.UID = "2" }

func beingDeleted(o *metav1.PartialObjectMetadata) {
	o.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
}

func TestEffectOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in       *enforcement // default: all enforced
		resource schema.GroupResource
		label    string
		object   *metav1.PartialObjectMetadata
		want     effect
	}{
		{"Always on the strict label", nil, configMaps, strictLabel, labelled(strictLabel, "Always"), effectProtected},
		{"an unknown value on the strict label", nil, configMaps, strictLabel, labelled(strictLabel, "always"), effectProtectedUnknown},
		{"an empty value", nil, configMaps, strictLabel, labelled(strictLabel, ""), effectEmpty},
		{"Always on Karmada's label", nil, configMaps, karmadaLabel, labelled(karmadaLabel, "Always"), effectProtected},
		{"an unknown value on Karmada's label", nil, configMaps, karmadaLabel, labelled(karmadaLabel, "always"), effectUnknown},
		{"Cascading on OpenKruise's label", nil, configMaps, kruiseLabel, labelled(kruiseLabel, "Cascading"), effectUnknown},
		{"an object that is being deleted", nil, configMaps, strictLabel, labelled(strictLabel, "Always", beingDeleted), effectTerminating},
		{"a pod of a controller", nil, pods, strictLabel, labelled(strictLabel, "Always", byController), effectControllers},
		{"a pod of nobody", nil, pods, strictLabel, labelled(strictLabel, "Always"), effectProtected},
		{"endpoints that their controller made", nil, endpoints, strictLabel, made(labelled(strictLabel, "Always")), effectControllers},
		{"endpoints that a person made", nil, endpoints, strictLabel, labelled(strictLabel, "Always"), effectProtected},
		{"a config map of a controller", nil, configMaps, strictLabel, labelled(strictLabel, "Always", byController), effectProtected},
		{"Cascading on a workload", nil, deploymentKind.GroupResource(), strictLabel, labelled(strictLabel, "Cascading"), effectWhileUsed},
		{"Cascading on what cannot be in use", nil, configMaps, strictLabel, labelled(strictLabel, "Cascading"), effectProtectedUnknown},
		{"a mark of a protection", nil, configMaps, v1alpha1.ProtectedByMark, labelled(v1alpha1.ProtectedByMark, "data"), effectProtected},
		{"a mark of a protection with mode Cascading", nil, deploymentKind.GroupResource(), v1alpha1.ProtectedWhileUsedByMark, labelled(v1alpha1.ProtectedWhileUsedByMark, "data"), effectWhileUsed},
		{"a mark of what hangs below", nil, namespacesKind.GroupResource(), v1alpha1.HoldsProtectedMark, labelled(v1alpha1.HoldsProtectedMark, "true"), effectHolds},
		{"a mark of another object", nil, configMaps, v1alpha1.ProtectedByMark, labelled(v1alpha1.ProtectedByMark, "data", stray), effectEmpty},
		{"an override of another object", nil, configMaps, strictLabel, labelled(strictLabel, "Always", overridden, stray), effectProtected},
		{"an override in force", nil, configMaps, strictLabel, labelled(strictLabel, "Always", overridden), effectOverridden},
		{"a kind that no policy is asked about", nil, policies, strictLabel, labelled(strictLabel, "Always"), effectBeyond},
		{"no policies", &enforcement{}, configMaps, strictLabel, labelled(strictLabel, "Always"), effectNotInForce},
		{"policies that cannot be read", &enforcement{Problem: "forbidden"}, configMaps, karmadaLabel, labelled(karmadaLabel, "Always"), effectProtected},
		{"mode Warn", new(inMode(configv1alpha1.ModeWarn)), configMaps, strictLabel, labelled(strictLabel, "Always"), effectWarned},
		{"mode Audit", new(inMode(configv1alpha1.ModeAudit)), configMaps, strictLabel, labelled(strictLabel, "Always"), effectAudited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := inMode(configv1alpha1.ModeEnforce)
			if tt.in != nil {
				e = *tt.in
			}
			got := effectOf(e, keyOf(tt.label), tt.resource, tt.object, placeOf(tt.resource, tt.object, nil))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEffectOf_scope(t *testing.T) {
	t.Parallel()
	installed := func(p installedPolicy) enforcement {
		p.Mode = configv1alpha1.ModeEnforce
		return enforcement{Installed: map[string]installedPolicy{keyOf(strictLabel).PolicyName(policy.RuleDelete): p}}
	}
	selected := installed(installedPolicy{Namespaces: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"shop"}},
			{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"test"}},
		},
	}})
	unread := installed(installedPolicy{Conditional: true})
	patterns := unread
	teams, err := scope.Compile(configv1alpha1.Scope{Namespaces: []string{"team-*"}})
	if err != nil {
		t.Fatal(err)
	}
	patterns.Scope = &teams
	in := func(namespace string) *metav1.PartialObjectMetadata {
		return labelled(strictLabel, "Always", func(o *metav1.PartialObjectMetadata) { o.Namespace = namespace })
	}
	namespace := func(labels ...string) *metav1.PartialObjectMetadata {
		return labelled(strictLabel, "Always", func(o *metav1.PartialObjectMetadata) {
			o.Namespace = ""
			for i := 0; i < len(labels); i += 2 {
				o.Labels[labels[i]] = labels[i+1]
			}
		})
	}
	tests := []struct {
		name     string
		in       enforcement
		resource schema.GroupResource
		object   *metav1.PartialObjectMetadata
		labels   map[string]string
		want     effect
	}{
		{"by the name of the namespace, its labels not known", selected, configMaps, in("shop"), nil, effectOutOfScope},
		{"by a label of the namespace", selected, configMaps, in("other"), map[string]string{"tier": "test"}, effectOutOfScope},
		{"in scope", selected, configMaps, in("other"), map[string]string{"tier": "prod"}, effectProtected},
		{"cluster-scoped objects are in every scope", selected, schema.GroupResource{Resource: "nodes"}, in(""), nil, effectProtected},
		{"a Namespace by its own labels", selected, namespacesKind.GroupResource(), namespace("tier", "test"), nil, effectOutOfScope},
		{"out of a pattern", patterns, configMaps, in("shop"), nil, effectOutOfScope},
		{"in a pattern", patterns, configMaps, in("team-a"), nil, effectProtected},
		{"a Namespace in a pattern", patterns, namespacesKind.GroupResource(), namespace(corev1.LabelMetadataName, "team-a"), nil, effectProtected},
		{"a Namespace out of a pattern", patterns, namespacesKind.GroupResource(), namespace(corev1.LabelMetadataName, "shop"), nil, effectOutOfScope},
		{"cluster-scoped objects with patterns", patterns, schema.GroupResource{Resource: "nodes"}, in(""), nil, effectProtected},
		{"patterns that cannot be read are assumed to match", unread, configMaps, in("shop"), nil, effectProtected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := effectOf(tt.in, keyOf(strictLabel), tt.resource, tt.object, placeOf(tt.resource, tt.object, tt.labels))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// made marks Endpoints as their controller does.
func made(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	metav1.SetMetaDataLabel(&o.ObjectMeta, policy.MadeByLabel, policy.MadeByValue)
	return o
}

func TestLeftToControllers(t *testing.T) {
	t.Parallel()
	plain := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	owned := plain.DeepCopy()
	byController(owned)
	for _, tt := range []struct {
		name     string
		resource schema.GroupResource
		object   *metav1.PartialObjectMetadata
		want     bool
	}{
		{"a pod of a controller", pods, owned, true},
		{"a pod of nobody", pods, plain, false},
		{"endpoints that their controller made", endpoints, made(plain.DeepCopy()), true},
		{"endpoints that a person made", endpoints, plain, false},
		{"a config map of a controller", configMaps, owned, false},
	} {
		if got := policy.LeftToControllers(tt.resource, tt.object); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
