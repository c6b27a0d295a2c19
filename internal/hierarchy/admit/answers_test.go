// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
)

// refused is a request that every mode finds a reason against.
func refused() request {
	return request{op: "CREATE", namespace: "a", object: "{spec: {parent: z}}"}
}

func TestModes(t *testing.T) {
	t.Parallel()
	const why = `the parent "z" does not exist`
	tests := []struct {
		config, want, warning, audit string
	}{
		{config: "mode: Enforce", want: "403", audit: why},
		{config: "mode: Warn", want: "ok", warning: why, audit: why},
		{config: "mode: Audit", want: "ok", audit: why},
		{config: "mode: Enforce, standBy: true", want: "ok"},
		{config: `mode: "Off"`, want: "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.config, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a")
			r.settings = load(t, tt.config)
			r.check(t, hierarchies, refused(), tt.want, "")
			got, _ := r.answer(t, hierarchies, refused().review(t))
			if warning := strings.Join(got.Warnings, ";"); warning != tt.warning || got.AuditAnnotations["refusal"] != tt.audit {
				t.Errorf("warning %q, audit %q", warning, got.AuditAnnotations)
			}
		})
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*request){
		"Holdfast itself": func(q *request) { q.user = holdfast },
		"a subresource":   func(q *request) { q.subresource = "status" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := refused()
			change(&q)
			newRig(t, "a").check(t, hierarchies, q, "ok", "")
		})
	}
}

// Holdfast creates service accounts for users who may not, so that what it creates takes the place of nothing either.
func TestUsers_whatHoldfastCreates(t *testing.T) {
	t.Parallel()
	const plain = "{kind: Secret, metadata: {name: x}}"
	for op, want := range map[string]string{"CREATE": "409", "UPDATE": "ok"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			q := request{op: admissionv1.Operation(op), namespace: "a", object: plain, user: holdfast, kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"}}
			if op == "UPDATE" {
				q.before = plain
			}
			newRig(t, "a <- b", "b").check(t, objects, q, want, "")
		})
	}
}

func TestErrors_anAPIServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ tree, parent string }{
		"about the user":      {"a, b", "a"},
		"about the namespace": {"?z <- b, a", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for mode, want := range map[string]string{"Enforce": "500", "Warn": "ok"} {
				r := newRig(t, tt.tree)
				r.settings, r.broken = load(t, "mode: "+mode), true
				r.check(t, hierarchies, request{op: "CREATE", namespace: "b", object: "{spec: {parent: " + tt.parent + "}}"}, want, "")
			}
		})
	}
}

// declared is what counts of a webhook in one line.
func declared(t testing.TB, r *rig, o admit.WebhookOptions) (out []string) {
	t.Helper()
	o.Settings, o.Users = r.settings, []string{holdfast}
	for _, w := range admit.NewHandlers(r.options(nil)).Webhooks(o) {
		if w.Mode == configv1alpha1.ModeOff {
			continue
		}
		var rules []string
		for _, rule := range w.Spec.Rules {
			var operations []string
			for _, op := range rule.Operations {
				operations = append(operations, string(op))
			}
			for _, resource := range rule.Resources {
				rules = append(rules, strings.TrimSuffix(resource+"."+rule.APIGroups[0], ".")+" "+strings.Join(operations, "|"))
			}
		}
		where := "everywhere"
		if w.Scope.NamespaceSelector != nil {
			where = "managed"
		}
		line := fmt.Sprintf("%s %s %s: %s", *w.Spec.FailurePolicy, w.Name, where, strings.Join(rules, ", "))
		if w.Mutating {
			line = "mutating " + line
		}
		out = append(out, line)
	}
	return out
}

func TestWebhooks_whatIsDeclared(t *testing.T) {
	t.Parallel()
	const created = "rolebindings.rbac.authorization.k8s.io CREATE, roles.rbac.authorization.k8s.io CREATE"
	const roles = "rolebindings.rbac.authorization.k8s.io CREATE|UPDATE, roles.rbac.authorization.k8s.io CREATE|UPDATE"
	r := newRig(t, "a")
	want := []string{
		"Fail hierarchyconfigurations.hnc.x-k8s.io everywhere: hierarchyconfigurations.hnc.x-k8s.io CREATE|UPDATE|DELETE",
		"Fail subnamespaceanchors.hnc.x-k8s.io everywhere: subnamespaceanchors.hnc.x-k8s.io CREATE|UPDATE|DELETE",
		"Fail hncconfigurations.hnc.x-k8s.io everywhere: hncconfigurations.hnc.x-k8s.io CREATE|UPDATE|DELETE",
		"Fail namespaces.hnc.x-k8s.io managed: namespaces DELETE",
		"Ignore other-namespaces.hnc.x-k8s.io managed: namespaces DELETE",
		"Ignore objects.hnc.x-k8s.io managed: configmaps CREATE|UPDATE, secrets CREATE|UPDATE, " + roles,
		"mutating Ignore restored-namespaces.hnc.x-k8s.io everywhere: namespaces CREATE",
		"mutating Ignore namespacelabel.hnc.x-k8s.io managed: namespaces CREATE|UPDATE",
		"mutating Ignore restored-objects.hnc.x-k8s.io managed: configmaps CREATE, secrets CREATE, " + created,
	}
	if diff := cmp.Diff(want, declared(t, r, admit.WebhookOptions{Resources: resources("secrets", "configmaps", "secrets")})); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	want[5], want[8] = "Ignore objects.hnc.x-k8s.io managed: "+roles, "mutating Ignore restored-objects.hnc.x-k8s.io managed: "+created
	want = slices.Insert(want, 5, "Ignore new-namespaces.hnc.x-k8s.io everywhere: namespaces CREATE")
	if diff := cmp.Diff(want, declared(t, r, admit.WebhookOptions{External: true})); diff != "" {
		t.Errorf("with external namespaces (-want +got):\n%s", diff)
	}
	for _, mode := range []string{"Audit", "Warn"} {
		r.settings = load(t, "mode: "+mode)
		for _, line := range declared(t, r, admit.WebhookOptions{}) {
			if strings.HasPrefix(line, "Fail") {
				t.Errorf("in mode %s an outage refuses: %s", mode, line)
			}
		}
	}
	for _, off := range []string{`mode: "Off"`, "mode: Enforce, standBy: true"} {
		r.settings = load(t, off)
		if got := declared(t, r, admit.WebhookOptions{External: true}); len(got) > 0 {
			t.Errorf("%s: %v", off, got)
		}
		for _, p := range admit.Policies(admit.PolicyOptions{Settings: r.settings}) {
			if p.Mode != configv1alpha1.ModeOff {
				t.Errorf("%s: %s is in mode %s", off, p.Name, p.Mode)
			}
		}
		paths := map[string]bool{}
		for _, w := range r.webhooks(t) { // to be served all the same
			if w.Handler == nil || paths[w.Path] {
				t.Errorf("%s: nothing, or something else, is served at %s", w.Name, w.Path)
			}
			paths[w.Path] = true
		}
	}
}

func TestPolicies_areTheSameInEveryOrder(t *testing.T) {
	t.Parallel()
	o := admit.PolicyOptions{Settings: load(t, "mode: Enforce"), Users: []string{holdfast}, Resources: resources("secrets", "pods", "configmaps")}
	a := admit.Policies(o)
	o.Resources = resources("configmaps", "pods", "secrets", "pods")
	if diff := cmp.Diff(a, admit.Policies(o)); diff != "" {
		t.Errorf("(-one order +another):\n%s", diff)
	}
	for _, p := range a {
		if p.Name == admit.CopiesPolicyName && p.Scope.NamespaceSelector == nil {
			t.Error("the policy for copies holds in excluded namespaces")
		}
		if p.Name == admit.NamespacesPolicyName && (p.Scope.NamespaceSelector != nil || len(p.Spec.MatchConstraints.ResourceRules) != 2) {
			t.Error("the policy for namespaces does not hold in excluded ones, or for subresources")
		}
		if p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy != admissionregistrationv1.Fail {
			t.Errorf("%s fails open", p.Name)
		}
	}
}
