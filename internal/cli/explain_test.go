// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

var configMapKind = kind{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true,
}

var deploymentKind = kind{
	GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment", Namespaced: true,
}

// facts are about somebody who may do everything, on a cluster that enforces.
func facts(label, value string, change ...func(*deleteFacts)) deleteFacts {
	yes := access{Allowed: true, Namespace: "shop"}
	f := deleteFacts{
		whyFacts: whyFacts{enforcement: inMode(configv1alpha1.ModeEnforce), anchor: anchorPresent},
		target:   newTarget(configMapKind, labelled(label, value)),
		mayEdit:  yes, mayDelete: yes, mayUnprotect: yes,
	}
	f.user.Username = "alice"
	for _, fn := range change {
		fn(&f)
	}
	return f
}

func TestExplainDelete(t *testing.T) {
	t.Parallel()
	const command = "kubectl holdfast unprotect configmaps/web -n shop"
	noRight := func(f *deleteFacts) { f.mayUnprotect.Allowed = false }
	tests := []struct {
		name      string
		facts     deleteFacts
		allowed   bool
		wantNotes []string
		wantSteps []string
	}{
		{
			name: "not labelled", facts: facts("app", "web"), allowed: true,
		},
		{
			name: "protected, and the user may unprotect", facts: facts(strictLabel, "Always"),
			wantSteps: []string{"if it really should go, run: " + command},
		},
		{
			name: "protected, and the user may not unprotect", facts: facts(strictLabel, "Always", noRight),
			wantSteps: []string{`ask somebody who holds the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev, in namespace shop, or a cluster administrator, to run: ` + command},
		},
		{
			name: "an open label needs no right", facts: facts(karmadaLabel, "Always", noRight),
			wantSteps: []string{"if it really should go, run: " + command},
		},
		{
			name: "an open label on an object that the user may not edit",
			facts: facts(karmadaLabel, "Always", func(f *deleteFacts) {
				f.mayEdit.Allowed = false
			}),
			wantSteps: []string{"ask somebody who may edit it to run: " + command},
		},
		{
			name:      "RBAC is in the way, too",
			facts:     facts(strictLabel, "Always", func(f *deleteFacts) { f.mayDelete.Allowed = false }),
			wantSteps: []string{"ask for the RBAC verb delete on configmaps in namespace shop", "if it really should go, run: " + command},
		},
		{
			name: "already on its way", facts: facts(strictLabel, "Always", func(f *deleteFacts) { beingDeleted(f.target.meta) }),
			allowed:   true,
			wantNotes: []string{"it is already being deleted, since 2026-11-21 10:00:00 UTC; Holdfast lets that finish"},
		},
		{
			name:    "mode Warn",
			facts:   facts(strictLabel, "Always", func(f *deleteFacts) { f.enforcement = inMode(configv1alpha1.ModeWarn) }),
			allowed: true,
		},
		{
			name: "stopped",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.enforcement, f.anchor = enforcement{}, anchorMissing
			}),
			allowed:   true,
			wantNotes: []string{"Holdfast is stopped: the ClusterRole holdfast-anchor is not there, and its policies go with it; nothing is refused"},
		},
		{
			name: "not installed",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.enforcement, f.anchor = enforcement{}, anchorUnknown
			}),
			allowed:   true,
			wantNotes: []string{"no policy of Holdfast is installed that refuses a delete: nothing is refused, and nothing is protected"},
		},
		{
			name: "policies that cannot be read",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.enforcement, f.anchor = enforcement{Problem: "you may not"}, anchorUnknown
			}),
			wantNotes: []string{"the policies could not be read (you may not): Holdfast is assumed to be installed and to enforce"},
			wantSteps: []string{"if it really should go, run: " + command},
		},
		{
			name: "mode Off",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.enforcement = enforcement{}
			}),
			allowed:   true,
			wantNotes: []string{"the deletion mode of Holdfast is Off: nothing is refused, and nothing is protected"},
		},
		{
			name: "a namespace that holds protected objects",
			facts: facts(v1alpha1.HoldsProtectedMark, "true", func(f *deleteFacts) {
				f.target.kind, f.target.meta.Name, f.target.meta.Namespace = namespacesKind, "shop", ""
			}),
			wantSteps: []string{
				"decide about what is protected in it first",
				"or let all of it go with it, for a while, run: kubectl holdfast override ask namespaces/shop --include-contents --reason WHY",
			},
		},
		{
			name:  "an owner of protected objects",
			facts: facts(v1alpha1.HoldsProtectedMark, "true"),
			wantSteps: []string{
				"decide about what is protected below it first",
				"or keep what it owns: kubectl delete configmaps/web -n shop --cascade=orphan",
			},
		},
		{
			name:  "selected by a protection",
			facts: facts(v1alpha1.ProtectedByMark, "shop-data", noRight),
			wantSteps: []string{
				"to let this one object go for a while, run: kubectl holdfast override ask configmaps/web -n shop --reason WHY",
				"to protect it no longer, change what the protection selects: kubectl holdfast protections shop-data",
			},
		},
		{
			name: "selected by a protection that the user may bypass",
			facts: facts(v1alpha1.ProtectedByMark, "shop-data", func(f *deleteFacts) {
				f.mayBypass = map[policy.Mark]bool{policy.MarkProtection: true}
			}),
			allowed:   true,
			wantNotes: []string{`you hold the RBAC verb "bypass" on the protection that holdfast.dev/protected-by names, and may delete it all the same`},
		},
		{
			name: "an override in force",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.target.meta.Labels[v1alpha1.OverrideMark] = "configmap-web-abcde"
			}),
			allowed: true,
		},
		{
			name: "Cascading on a workload that wants replicas",
			facts: facts(strictLabel, "Cascading", func(f *deleteFacts) {
				f.target.kind, f.target.use = deploymentKind, inUse
			}),
			wantNotes: []string{"holdfast.dev/deletion-protected protects it for as long as it is in use, and it is in use"},
			wantSteps: []string{"if it really should go, run: kubectl holdfast unprotect deployments.apps/web -n shop"},
		},
		{
			name: "Cascading on a workload that wants none",
			facts: facts(strictLabel, "Cascading", func(f *deleteFacts) {
				f.target.kind, f.target.use = deploymentKind, notInUse
			}),
			allowed:   true,
			wantNotes: []string{"holdfast.dev/deletion-protected protects it for as long as it is in use, and it is not in use"},
		},
		{
			name: "a kind that no policy is asked about",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.target.kind.GroupVersionResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
			}),
			allowed:   true,
			wantNotes: []string{"the API server asks no policy about objects of this kind: a label on one protects nothing; guard them by RBAC"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := explainDelete(tt.facts)
			if got.Allowed != tt.allowed {
				t.Errorf("allowed: got %t", got.Allowed)
			}
			if diff := cmp.Diff(tt.wantNotes, got.Notes); diff != "" {
				t.Errorf("notes (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantSteps, got.NextSteps); diff != "" {
				t.Errorf("next steps (-want +got)\n%s", diff)
			}
		})
	}
}

func TestPrintExplanations(t *testing.T) {
	t.Parallel()
	streams, out, _ := testStreams()
	if err := newClients(streams).printExplanations(&whyDeleteOptions{}, []explanation{explainDelete(facts(strictLabel, "Always"))}); err != nil {
		t.Fatal(err)
	}
	const want = `configmaps/web in namespace shop: the delete would be refused

  who asks       alice
  may delete     yes (says RBAC)
  may unprotect  yes (the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev, in namespace shop)
  may edit       yes (says RBAC)

  holdfast.dev/deletion-protected=Always  protected
    rule         delete
    policy       holdfast-deletion-holdfast (mode Enforce)
    message      configmaps/web is protected from deletion by the label holdfast.dev/deletion-protected. Whoever holds the right to unprotect it can run: kubectl label configmaps/web -n shop holdfast.dev/deletion-protected-

what to do:
  - if it really should go, run: kubectl holdfast unprotect configmaps/web -n shop
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
