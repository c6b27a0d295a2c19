// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// deployment is written as NAMESPACE/NAME IMAGE, with the pods that are wanted and there.
func deployment(text string, wanted, running int32) Deployment {
	where, image, _ := strings.Cut(text, " ")
	ns, name, _ := strings.Cut(where, "/")
	return Deployment{Namespace: ns, Name: name, Images: []string{"sidecar:1", image}, Wanted: wanted, Running: running}
}

func behind(kind, name string, ready int, webhooks ...string) Webhook {
	return Webhook{
		Kind: kind, Name: name, Webhooks: webhooks,
		Services: map[types.NamespacedName]int{{Namespace: "hnc-system", Name: "hnc-webhook-service"}: ready, {Namespace: "a", Name: "a"}: 0},
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const validating, mutating = "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"
	one := func(d Deployment) Facts { return Facts{Deployments: []Deployment{d}} }
	hook := func(w ...Webhook) Facts { return Facts{Webhooks: w} }
	tests := []struct {
		name   string
		facts  Facts
		alone  bool
		reason string
		says   []string
	}{
		{name: "nothing", alone: true, reason: v1alpha1.ReasonAlone, says: []string{"no HNC"}},
		{
			name: "HNC as it is installed", facts: one(deployment("hnc-system/hnc-controller-manager gcr.io/k8s-staging-multitenancy/hnc-manager:v1.1.0", 1, 1)),
			reason: v1alpha1.ReasonHNCRuns, says: []string{"hnc-system/hnc-controller-manager (1 pods wanted, 1 there)", "stands by", "kubectl holdfast adopt hnc"},
		},
		{name: "one that is wanted and not there yet", facts: one(deployment("hnc-system/hnc-controller-manager x", 1, 0)), reason: v1alpha1.ReasonHNCRuns},
		{name: "one that is not wanted and still there", facts: one(deployment("hnc-system/hnc-controller-manager x", 0, 1)), reason: v1alpha1.ReasonHNCRuns},
		{name: "one that is scaled to nothing", facts: one(deployment("hnc-system/hnc-controller-manager x", 0, 0)), alone: true, reason: v1alpha1.ReasonAlone},
		{name: "the one for its webhooks, in another namespace", facts: one(deployment("tools/hnc-controller-manager-ha x", 3, 3)), reason: v1alpha1.ReasonHNCRuns},
		{name: "another name, HNC's image", facts: one(deployment("tools/trees registry.example.com:5000/mirror/hnc-manager@sha256:00", 1, 1)), reason: v1alpha1.ReasonHNCRuns, says: []string{"tools/trees"}},
		{name: "a fork's image", facts: one(deployment("tools/trees ghcr.io/pfnet/hierarchical-namespaces/manager:v1", 1, 1)), reason: v1alpha1.ReasonHNCRuns},
		{name: "the image as the chart writes it by default", facts: one(deployment("tools/trees example.com/x/hnc-manager:hnc-manager:latest", 1, 1)), reason: v1alpha1.ReasonHNCRuns},
		{name: "another controller with the same label", facts: one(deployment("tools/controller-manager example.com/other-hnc-manager-x:v1", 1, 1)), alone: true, reason: v1alpha1.ReasonAlone},
		{
			name: "a webhook that somebody answers", facts: hook(behind(validating, "hnc-validating-webhook-configuration", 2)),
			reason: v1alpha1.ReasonHNCRuns, says: []string{"ValidatingWebhookConfiguration hnc-validating-webhook-configuration, answered by Service hnc-system/hnc-webhook-service"},
		},
		{name: "a mutating one", facts: hook(behind(mutating, "hnc-mutating-webhook-configuration", 1)), reason: v1alpha1.ReasonHNCRuns},
		{name: "one by another name", facts: hook(behind(validating, "trees", 1, "x.example.com", "namespaces.hnc.x-k8s.io")), reason: v1alpha1.ReasonHNCRuns, says: []string{"ValidatingWebhookConfiguration trees"}},
		{name: "one at a URL, of which nobody knows", facts: hook(Webhook{Kind: validating, Name: "hnc-validating-webhook-configuration", URLs: []string{"https://a"}}), reason: v1alpha1.ReasonHNCRuns, says: []string{"https://a"}},
		{
			name: "webhooks that nobody answers", facts: hook(behind(validating, "hnc-validating-webhook-configuration", 0), behind(mutating, "hnc-mutating-webhook-configuration", 0)), alone: true,
			reason: v1alpha1.ReasonHNCLeftBehind, says: []string{"MutatingWebhookConfiguration hnc-mutating-webhook-configuration and ValidatingWebhookConfiguration", "kubectl holdfast adopt hnc"},
		},
		{name: "webhooks of others", facts: hook(behind(validating, "other", 1, "namespaces.example.com", "hnc.x-k8s.io.example.com")), alone: true, reason: v1alpha1.ReasonAlone},
		{
			name:   "a Deployment that comes back behind dead webhooks",
			facts:  Facts{Deployments: []Deployment{deployment("hnc-system/hnc-controller-manager x", 1, 0)}, Webhooks: []Webhook{behind(validating, "hnc-validating-webhook-configuration", 0)}},
			reason: v1alpha1.ReasonHNCRuns,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := Judge(tt.facts)
			if v.Alone() != tt.alone {
				t.Errorf("alone: %t, want %t", v.Alone(), tt.alone)
			}
			c := v.Condition()
			if c.Type != v1alpha1.ConditionHierarchyAlone || c.Reason != tt.reason || (c.Status == metav1.ConditionTrue) != (tt.reason == v1alpha1.ReasonAlone) {
				t.Errorf("condition %+v, want the reason %s", c, tt.reason)
			}
			for _, want := range tt.says {
				if !strings.Contains(c.Message, want) {
					t.Errorf("%q is without %q", c.Message, want)
				}
			}
		})
	}
}

func TestVerdict_nobodyActsBeforeTheFirstLook(t *testing.T) {
	t.Parallel()
	for _, v := range []Verdict{{}, unknown(errors.New("list Deployments: forbidden"))} {
		c := v.Condition()
		if v.Alone() || c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonNotYetChecked || c.Message == "" {
			t.Errorf("%+v, alone: %t", c, v.Alone())
		}
	}
}
