// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

var configMapKind = kind{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true,
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
			wantNotes: []string{"Holdfast is stopped: the ClusterRole holdfast-anchor is not there, and its policies go with it"},
		},
		{
			name: "not installed",
			facts: facts(strictLabel, "Always", func(f *deleteFacts) {
				f.enforcement, f.anchor = enforcement{}, anchorUnknown
			}),
			allowed:   true,
			wantNotes: []string{"no policy of Holdfast is installed that refuses a delete: nothing is protected"},
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
			name: "a namespace with protected content",
			facts: facts("app", "web", func(f *deleteFacts) {
				f.target = newTarget(namespacesKind, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
				podKind := configMapKind
				podKind.Resource = "pods"
				f.contents = []target{
					newTarget(configMapKind, labelled(strictLabel, "Always")),
					newTarget(configMapKind, labelled(strictLabel, "")),
					newTarget(podKind, labelled(strictLabel, "Always", byController)),
				}
				f.contentProblems = []error{errors.New("you may not list secrets")}
			}),
			allowed: true,
			wantNotes: []string{
				"protected objects in the namespace would stay and keep it terminating: configmaps/web",
				"what is protected inside is not fully known: you may not list secrets",
			},
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
	if err := newClients(streams).printExplanations("", []explanation{explainDelete(facts(strictLabel, "Always"))}); err != nil {
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
