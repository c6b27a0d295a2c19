// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// TestConfiguration is one test, since its parts share the configuration: the gate is there from the start, the
// rest changes while Holdfast runs.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	configure(t, e, "{}")
	e.Manager = e.StartManager(t)
	if err := e.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("a namespace protects the kinds that it declares", func(t *testing.T) { byDefault(t, e) })
	t.Run("changing what it declares needs the right to unprotect", func(t *testing.T) { byDefaultRights(t, e) })
	t.Run("overrides pass what it declares", func(t *testing.T) { byDefaultOverrides(t, e) })
	t.Run("switches of the labels", func(t *testing.T) { switchesOfTheLabels(t, e) })
	t.Run("an operator of a kind with an irregular plural is named", func(t *testing.T) { namedOperator(t, e) })
	t.Run("an override waits for a second person", func(t *testing.T) { waitsForASecondPerson(t, e) })
}

// configure writes Holdfast's configuration: the gate, and what is about deletion.
func configure(t testing.TB, e *testkit.Env, deletion string) {
	t.Helper()
	e.Apply(t, "holdfast-system", `
apiVersion: v1
kind: ConfigMap
metadata: {name: holdfast}
data:
  config.yaml: |
    apiVersion: config.holdfast.dev/v1alpha1
    kind: HoldfastConfiguration
    featureGates: {DeletionProtectionByDefault: true}
    deletion: `+deletion+`
`)
}

// switchesOfTheLabels are as the API server acts on them.
func switchesOfTheLabels(t *testing.T, e *testkit.Env) {
	const operator = "system:serviceaccount:kruise-system:kruise-manager"
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	everything(t, e, "editor")
	everything(t, e, operator)
	configure(t, e, `{labels: {karmada: Strict, kruise: Ignore}, workloadControllers: ["`+operator+`"]}`)
	kruised := configMap(t, e, ns, "kruise", kruise+"=Always")
	g.Eventually(func() error { return e.Client.Delete(t.Context(), kruised, client.DryRunAll) }, "180s", "100ms").Should(gomega.Succeed(), "an ignored label protects")

	off := mergeLabels(map[string]any{karmada: nil})
	kept := configMap(t, e, ns, "karmada", karmada+"=Always")
	g.Eventually(func() error { return e.As(t, "editor").Patch(t.Context(), kept.DeepCopy(), off, client.DryRunAll) }, "180s", "100ms").
		Should(gomega.MatchError(apierrors.IsForbidden, "forbidden"), "a label that was made strict is taken away")
	if err := e.Client.Patch(t.Context(), kept, off); err != nil {
		t.Errorf("with the right to unprotect: %v", err)
	}

	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always},
		ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: kruise, uid: "`+string(kruised.UID)+`", controller: true}]}, spec: {containers: [{name: c, image: i}]}}`)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns}}
	if err := e.As(t, "editor").Delete(t.Context(), pod); !apierrors.IsForbidden(err) {
		t.Errorf("a person deletes a controller's pod: got %v, want a 403", err)
	}
	g.Eventually(func() error { return e.As(t, operator).Delete(t.Context(), pod) }, "180s", "100ms").Should(gomega.Succeed(), "a workload controller that is named")
}

// namedOperator has the configuration of the guide for operators.
func namedOperator(t *testing.T, e *testkit.Env) {
	guide := page.Read(t, "docs/guides/protect-what-an-operator-runs.md").YAML(t, "When the operator is refused")
	cfg, err := config.Load([]byte(config.Empty + guide))
	if err != nil {
		t.Fatal(err)
	}
	g, o, operator := gomega.NewWithT(t), newOperated(t, e, "Index"), cfg.Deletion.WorkloadControllers[0]
	o.runs(t, o.namespace, operator, "indices")
	pod, claim := o.make(t, "pod", aPod, "Index", true), o.make(t, "claim", aClaim, "Index", true)
	asked := func(u client.Object) func() error {
		return func() error { return o.As(t, operator).Delete(t.Context(), u, client.DryRunAll) }
	}
	configure(t, e, "{}")
	g.Eventually(asked(pod), "180s", "100ms").Should(gomega.MatchError(apierrors.IsForbidden, "forbidden"), "an operator that is not named")
	configure(t, e, fmt.Sprintf("{workloadControllers: [%q]}", operator))
	g.Eventually(asked(pod), "180s", "100ms").Should(gomega.Succeed(), "an operator that is named")
	if err := asked(claim)(); !apierrors.IsForbidden(err) {
		t.Errorf("it deletes data: got %v, want a 403", err)
	}
}
