// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

var ours = client.MatchingLabels{admission.ManagedByLabel: admission.ManagedByValue}

// admissionObjects are the names of all admission objects of Holdfast.
func admissionObjects(t testing.TB, e *testkit.Env) (names []string) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.ValidatingAdmissionPolicyList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{},
		&admissionregistrationv1.MutatingWebhookConfigurationList{},
	} {
		if err := e.Client.List(t.Context(), list, ours); err != nil {
			t.Fatal(err)
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			names = append(names, fmt.Sprintf("%T/%s", o, o.(client.Object).GetName()))
			return nil
		})
	}
	return names
}

func condition(t testing.TB, e *testkit.Env, kind string) metav1.Condition {
	t.Helper()
	var h v1alpha1.Holdfast
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, &h); err != nil {
		t.Fatal(err)
	}
	c := meta.FindStatusCondition(h.Status.Conditions, kind)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}

// The acts are played one after the other on one cluster: each leaves all as it is declared.
func TestDeclared_isWhatTheAPIServerHas(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: []string{"--leader-elect=false"}}) // so that there is no lease to renew
	for _, act := range []struct {
		name string
		play func(*testing.T, *testkit.Env)
	}{
		{name: "at rest nothing is written", play: atRestNothingIsWritten},
		{name: "what is put back is said", play: whatIsPutBackIsSaid},
		{name: "what is deleted or changed by hand is back", play: whatIsChangedByHandIsBack},
		{name: "what is another's is left alone", play: whatIsAnothersIsLeftAlone},
		{name: "modes change with the configuration", play: modesChangeWithTheConfiguration},
		{name: "a bad configuration is refused", play: aBadConfigurationIsRefused},
		{name: "the role binds exactly the names that can be written", play: theRoleBindsTheNamesThatCanBeWritten},
	} {
		t.Run(act.name, func(t *testing.T) { act.play(t, e) })
	}
}

func atRestNothingIsWritten(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	var before float64
	g.Eventually(func() bool {
		last := before
		before = e.Writes(t)
		return before == last
	}, "180s", "1s").Should(gomega.BeTrue(), "the start does not come to an end")
	g.Consistently(func() float64 { return e.Writes(t) }, "5s", "500ms").Should(gomega.Equal(before))
}

func whatIsChangedByHandIsBack(t *testing.T, e *testkit.Env) {
	const policy = "holdfast-deletion-holdfast"
	tests := []struct {
		name string
		args []string
		// refused is what kubectl says where the API server does not let it.
		refused string
	}{
		{name: "a policy deleted", args: []string{"delete", "validatingadmissionpolicy", policy}},
		{name: "a binding deleted", args: []string{"delete", "validatingadmissionpolicybinding", policy}},
		{name: "all policies deleted at once", args: []string{"delete", "validatingadmissionpolicies", "--all"}},
		{name: "a binding weakened", args: []string{"patch", "validatingadmissionpolicybinding", policy, "--type=merge", "-p", `{"spec":{"validationActions":["Audit"]}}`}},
		{name: "a condition slipped into a policy", args: []string{"patch", "validatingadmissionpolicy", policy, "--type=merge", "-p", `{"spec":{"matchConditions":[{"name":"never","expression":"false"}]}}`}},
		{name: "a selector slipped into a policy", args: []string{"patch", "validatingadmissionpolicy", policy, "--type=merge", "-p", `{"spec":{"matchConstraints":{"namespaceSelector":{"matchLabels":{"no":"where"}}}}}`}},
		{name: "a binding narrowed", args: []string{"patch", "validatingadmissionpolicybinding", policy, "--type=merge", "-p", `{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"no":"where"}}}}}`}},
		{name: "its label taken off", args: []string{"label", "validatingadmissionpolicy", policy, admission.ManagedByLabel + "-"}},
		{name: "its owner taken off", args: []string{"patch", "validatingadmissionpolicy", policy, "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`}},
		{name: "the webhook configuration deleted", args: []string{"delete", "validatingwebhookconfiguration", admission.WebhookConfigurationName}, refused: admission.StopCommands},
		{name: "all webhook configurations deleted at once", args: []string{"delete", "--raw", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"}, refused: admission.StopCommands},
		{name: "the webhook configuration emptied", args: []string{"patch", "validatingwebhookconfiguration", admission.WebhookConfigurationName, "--type=merge", "-p", `{"webhooks":[]}`}, refused: admission.StopCommands},
		{name: "a CRD deleted", args: []string{"delete", "crd", "holdfasts.holdfast.dev"}, refused: admission.StopCommands},
		{name: "the namespace deleted", args: []string{"delete", "namespace", "holdfast-system"}, refused: admission.StopCommands},
		{name: "the anchor deleted", args: []string{"delete", "clusterrole", admission.AnchorName}, refused: admission.StopCommands},
		{name: "the anchor deleted with its dependents orphaned", args: []string{"delete", "clusterrole", admission.AnchorName, "--cascade=orphan"}, refused: admission.StopCommands},
		{name: "the anchor deleted by its label", args: []string{"delete", "clusterrole", "-l", "app.kubernetes.io/part-of=holdfast", "--field-selector=metadata.name=" + admission.AnchorName}, refused: admission.StopCommands},
		{name: "the collection of the anchor deleted", args: []string{"delete", "--raw", "/apis/rbac.authorization.k8s.io/v1/clusterroles?fieldSelector=metadata.name%3D" + admission.AnchorName}, refused: admission.StopCommands},
		{name: "the anchor given an owner", args: []string{"patch", "clusterrole", admission.AnchorName, "--type=merge", "-p", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"gone","uid":"0b4d0d5a-7f3a-4a51-9f0e-2f6f4f1f9a11"}]}}`}, refused: "takes no owners and no finalizers"},
		{name: "the anchor given a finalizer", args: []string{"patch", "clusterrole", admission.AnchorName, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/never"]}}`}, refused: "takes no owners and no finalizers"},
		{name: "the certificate Secret deleted", args: []string{"delete", "secret", "-n", "holdfast-system", "holdfast-guard-tls"}},
		{name: "the serving certificate damaged", args: []string{"patch", "secret", "-n", "holdfast-system", "holdfast-guard-tls", "--type=merge", "-p", `{"data":{"tls.crt":"bm8="}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { // one after the other: each wants to find all as declared
			g := gomega.NewWithT(t)
			before := snapshot(t, e)
			out := e.Kubectl(t, tt.args...)
			if tt.refused != "" {
				if out.Code == 0 || !strings.Contains(out.Stderr, tt.refused) {
					t.Errorf("kubectl ended with %d: %s%s, want a refusal with %q", out.Code, out.Stdout, out.Stderr, tt.refused)
				}
			} else if out.Code != 0 {
				t.Fatalf("kubectl: %s", out.Stderr)
			}
			g.Eventually(func() string { return cmp.Diff(before, snapshot(t, e)) }, "180s", "100ms").Should(gomega.BeEmpty(), "(-before +after)")
			if err := e.WaitEnforced(t.Context()); err != nil {
				t.Error(err)
			}
			g.Eventually(func() string {
				return e.KubectlInput(t, configurationYAML(badConfiguration), "apply", "--server-side", "--force-conflicts", "-f", "-").Stderr
			}, "180s", "100ms").Should(gomega.ContainSubstring("data[config.yaml].deletion.mode"), "the webhook is not called")
		})
	}
}

// snapshot is what a healed cluster has: every admission object with its whole
// content, and the certificate's authority.
func snapshot(t testing.TB, e *testkit.Env) map[string]string {
	t.Helper()
	out := map[string]string{}
	var policies admissionregistrationv1.ValidatingAdmissionPolicyList
	var bindings admissionregistrationv1.ValidatingAdmissionPolicyBindingList
	var webhooks admissionregistrationv1.ValidatingWebhookConfigurationList
	for _, list := range []client.ObjectList{&policies, &bindings, &webhooks} {
		if err := e.Client.List(t.Context(), list, ours); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range policies.Items {
		out["policy/"+p.Name] = content(t, p.ObjectMeta, p.Spec)
	}
	for _, b := range bindings.Items {
		out["binding/"+b.Name] = content(t, b.ObjectMeta, b.Spec)
	}
	for _, w := range webhooks.Items {
		out["webhooks/"+w.Name] = content(t, w.ObjectMeta, w.Webhooks)
	}
	var secret corev1.Secret
	if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: "holdfast-system", Name: "holdfast-guard-tls"}, &secret); err == nil {
		out["authority"] = string(secret.Data["ca.crt"])
	}
	return out
}

func content(t testing.TB, m metav1.ObjectMeta, spec any) string {
	t.Helper()
	text, err := json.Marshal([]any{m.Labels, m.OwnerReferences, spec})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is put back is said: by a metric and an event.
func whatIsPutBackIsSaid(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	if got := e.Metric(t, "holdfast_admission_repairs_total"); got != 0 {
		t.Errorf("%v repairs after a plain start, want none", got)
	}
	if out := e.Kubectl(t, "delete", "validatingadmissionpolicy", "holdfast-deletion-karmada"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	g.Eventually(func() float64 { return e.Metric(t, "holdfast_admission_repairs_total") }, "180s", "100ms").Should(gomega.Equal(1.0))
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "events.events.k8s.io", "-A", "-o", "jsonpath={range .items[*]}{.reason} {.note}{'\\n'}{end}").Stdout
	}, "180s", "100ms").Should(gomega.ContainSubstring("Restored Restored after somebody changed or deleted them: ValidatingAdmissionPolicy/holdfast-deletion-karmada"))
}

// A policy of somebody else that carries the same label is none of Holdfast's.
func whatIsAnothersIsLeftAlone(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	ready := func() metav1.ConditionStatus { return condition(t, e, v1alpha1.ConditionReady).Status }
	g.Eventually(ready, "180s", "200ms").Should(gomega.Equal(metav1.ConditionTrue)) // after many repairs the objects count as contested
	e.Apply(t, "default", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: other, labels: {app.kubernetes.io/managed-by: holdfast}}, spec: {matchConstraints: {resourceRules: [{apiGroups: [example.org], apiVersions: [v1], operations: [DELETE], resources: [nothing]}]}, validations: [{expression: "true"}]}}`)
	g.Consistently(ready, "3s", "200ms").Should(gomega.Equal(metav1.ConditionTrue))
	if out := e.Kubectl(t, "delete", "validatingadmissionpolicy", "other"); out.Code != 0 {
		t.Errorf("it is gone: %s", out.Stderr)
	}
}

// Whoever may edit ConfigMaps may not turn every protection off by that.
func TestConfiguration_needsTheRightToUnprotect(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	e.Grant(t, "holdfast-system", "editor", testkit.Rule("", []string{"configmaps"}, "*"))
	const off = "{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast}, data: {config.yaml: ''}}"
	for _, args := range [][]string{
		{"patch", "configmap", "holdfast", "--type=merge", "-p", `{"data":{"config.yaml":"apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\ndeletion: {mode: Off}\n"}}`},
		{"apply", "--server-side", "--force-conflicts", "-f", "-"},
		{"replace", "-f", "-"},
		{"delete", "configmap", "holdfast"},
		{"delete", "--raw", "/api/v1/namespaces/holdfast-system/configmaps?fieldSelector=metadata.name%3Dholdfast"},
	} {
		out := e.KubectlInput(t, off, append(args, "-n", "holdfast-system", "--as=editor")...)
		if out.Code == 0 || !strings.Contains(out.Stderr, "can turn every protection off") {
			t.Errorf("kubectl %s ended with %d: %s%s", strings.Join(args, " "), out.Code, out.Stdout, out.Stderr)
		}
	}
	if out := e.Kubectl(t, "annotate", "configmap", "holdfast", "-n", "holdfast-system", "--as=editor", "a=b"); out.Code != 0 {
		t.Errorf("what does not change the configuration is refused: %s", out.Stderr)
	}
}

func modesChangeWithTheConfiguration(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {holdfast.dev/deletion-protected: Always}}}`)
	for _, step := range []struct {
		mode        string
		wantRefused bool
		wantWarning bool
	}{
		{mode: "Warn", wantWarning: true},
		{mode: "Audit"},
		{mode: "Enforce", wantRefused: true},
		{mode: "Off"},
		{mode: "Enforce", wantRefused: true},
	} {
		configure(t, e, "deletion: {mode: "+step.mode+"}")
		g.Eventually(func() bool {
			out := e.Kubectl(t, "delete", "-n", ns, "configmap/x", "--dry-run=server")
			said := strings.Contains(out.Stderr, "is protected from deletion")
			return (out.Code != 0) == step.wantRefused && said == (step.wantRefused || step.wantWarning)
		}, "180s", "100ms").Should(gomega.BeTrue(), "in mode %s", step.mode)
	}
}

func aBadConfigurationIsRefused(t *testing.T, e *testkit.Env) {
	out := e.KubectlInput(t, configurationYAML(badConfiguration), "apply", "--server-side", "--force-conflicts", "-f", "-")
	if out.Code == 0 || !strings.Contains(out.Stderr, "deletion.mode") || !strings.Contains(out.Stderr, "Enforce") {
		t.Errorf("kubectl ended with %d: %s, want a refusal that names the field and what it may be", out.Code, out.Stderr)
	}
}

func theRoleBindsTheNamesThatCanBeWritten(t *testing.T, e *testkit.Env) {
	if out := e.Kubectl(t, "apply", "--server-side", "-f", "../../../config/rbac/hierarchy.yaml"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	configure(t, e, "featureGates: {DeletionProtectionByDefault: true}\n    deletion: {labels: {karmada: Strict, kruise: Strict}}\n    hierarchy: {mode: Enforce}")
	g := gomega.NewWithT(t)
	var role rbacv1.ClusterRole
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-guard"}, &role); err != nil {
		t.Fatal(err)
	}
	var granted []string
	for _, rule := range role.Rules {
		if rule.APIGroups[0] == "admissionregistration.k8s.io" && rule.Resources[0] == "validatingadmissionpolicies" && slices.Contains(rule.Verbs, "create") {
			granted = append(granted, rule.ResourceNames...)
		}
	}
	g.Eventually(func() []string {
		// Each policy has a binding of its name, and some have another one.
		var list admissionregistrationv1.ValidatingAdmissionPolicyBindingList
		if err := e.Client.List(t.Context(), &list, ours); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}, "180s", "100ms").Should(gomega.ConsistOf(granted))
}

// badConfiguration has a mode that there is not.
const badConfiguration = "deletion: {mode: Sometimes}"

func configure(t testing.TB, e *testkit.Env, body string) {
	t.Helper()
	if out := e.KubectlInput(t, configurationYAML(body), "apply", "--server-side", "--force-conflicts", "-f", "-"); out.Code != 0 {
		t.Fatalf("configure: %s", out.Stderr)
	}
}

func configurationYAML(body string) string {
	return `apiVersion: v1
kind: ConfigMap
metadata: {name: holdfast, namespace: holdfast-system}
data:
  config.yaml: |
    apiVersion: config.holdfast.dev/v1alpha1
    kind: HoldfastConfiguration
    ` + body + "\n"
}
