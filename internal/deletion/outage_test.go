// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What DESIGN calls the first promise: the rules hold while every pod of
// Holdfast is down, and nothing else is in anybody's way.
func TestOutage_rulesHoldAndNothingElseIsRefused(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{e.Namespace(t), "default", "kube-system", "kube-public", "holdfast-system"} {
		kept := configMap(t, e, ns, "kept", strict+"=Always", karmada+"=Always")
		if err := e.Client.Delete(t.Context(), kept); !apierrors.IsForbidden(err) {
			t.Errorf("a labelled object in %s: got %v, want a 403", ns, err)
		}
		loose := configMap(t, e, ns, "loose")
		loose.Data = map[string]string{"a": "b"}
		if err := e.Client.Update(t.Context(), loose); err != nil {
			t.Errorf("an unrelated update in %s: %v", ns, err)
		}
		if err := e.Client.Delete(t.Context(), loose); err != nil {
			t.Errorf("an unrelated delete in %s: %v", ns, err)
		}
	}
	ns := e.Namespace(t)
	everything(t, e, "editor")
	editor := e.As(t, "editor")
	if err := editor.Patch(t.Context(), configMap(t, e, ns, "x", strict+"=Always"), mergeLabels(map[string]any{strict: nil})); !apierrors.IsForbidden(err) {
		t.Errorf("taking the label away: got %v, want a 403", err)
	}
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`)
	if err := bind(t, editor, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns, Labels: map[string]string{strict: ""}},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, false); !apierrors.IsForbidden(err) {
		t.Errorf("emptying the label by a binding: got %v, want a 403", err)
	}
	// The configuration has a webhook, and that one fails open.
	if out := e.Kubectl(t, "annotate", "-n", "holdfast-system", "configmap/holdfast", "during=outage"); out.Code != 0 {
		t.Errorf("the configuration cannot be written while the manager is down: %s", out.Stderr)
	}
}

func TestOutage_theModeChangesByPlainKubectlWithTheManagerDead(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	ns := e.Namespace(t)
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	configMap(t, e, ns, "x", strict+"=Always")
	for _, step := range []struct {
		actions, wantWarning string
		wantRefused          bool
	}{
		{actions: `["Warn","Audit"]`, wantWarning: "is protected from deletion"},
		{actions: `["Audit"]`},
		{actions: `["Deny","Audit"]`, wantRefused: true},
	} {
		out := e.Kubectl(t, "patch", "validatingadmissionpolicybinding", "holdfast-deletion-holdfast", "--type=merge", "-p", `{"spec":{"validationActions":`+step.actions+`}}`)
		if out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		g.Eventually(func() bool {
			out := e.Kubectl(t, "delete", "-n", ns, "configmap/x", "--dry-run=server")
			return (out.Code != 0) == step.wantRefused && strings.Contains(out.Stderr, step.wantWarning) &&
				(step.wantWarning != "" || step.wantRefused || !strings.Contains(out.Stderr, "protected"))
		}, "180s", "100ms").Should(gomega.BeTrue(), "with %s", step.actions)
	}
}

// Switches of the configuration, as the API server acts on them.
func TestConfiguration_switchesOfTheLabels(t *testing.T) {
	t.Parallel()
	const operator = "system:serviceaccount:kruise-system:kruise-manager"
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	everything(t, e, "editor")
	everything(t, e, operator)
	e.Apply(t, "holdfast-system", `
apiVersion: v1
kind: ConfigMap
metadata: {name: holdfast}
data:
  config.yaml: |
    apiVersion: config.holdfast.dev/v1alpha1
    kind: HoldfastConfiguration
    deletion: {labels: {karmada: Strict, kruise: Ignore}, workloadControllers: ["`+operator+`"]}
`)
	kruised := configMap(t, e, ns, "kruise", kruise+"=Always")
	g.Eventually(func() error { return e.Client.Delete(t.Context(), kruised, client.DryRunAll) }, "180s", "100ms").Should(gomega.Succeed(), "an ignored label protects")

	off := mergeLabels(map[string]any{karmada: nil})
	kept := configMap(t, e, ns, "karmada", karmada+"=Always")
	if err := e.As(t, "editor").Patch(t.Context(), kept.DeepCopy(), off); !apierrors.IsForbidden(err) {
		t.Errorf("taking a label away that was made strict: got %v, want a 403", err)
	}
	if err := e.Client.Patch(t.Context(), kept, off); err != nil {
		t.Errorf("with the right to unprotect: %v", err)
	}

	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always},
		ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: kruise, uid: "`+string(kruised.UID)+`", controller: true}]}, spec: {containers: [{name: c, image: i}]}}`)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns}}
	if err := e.As(t, "editor").Delete(t.Context(), pod); !apierrors.IsForbidden(err) {
		t.Errorf("a person deletes a controller's pod: got %v, want a 403", err)
	}
	if err := e.As(t, operator).Delete(t.Context(), pod); err != nil {
		t.Errorf("a workload controller that is named: %v", err)
	}
}
