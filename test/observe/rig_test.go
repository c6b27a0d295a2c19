// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// manifests are what features need beyond those that are on by default.
var manifests = []string{
	"config/crd/hnc", "config/rbac/hierarchy.yaml", "internal/testkit/strimzi/crds.yaml", "config/rbac/serviceaccounts.yaml",
}

// everything is a cluster of the test's own with all features on, in mode Enforce. The
// rules are of the API server's audit policy; without any it logs nothing.
func everything(t *testing.T, log **auditlog.Log, rules ...auditv1.PolicyRule) *testkit.Env {
	t.Helper()
	var options cluster.Options
	if log != nil {
		var err error
		if *log, options, err = auditlog.New(t.TempDir(), rules...); err != nil {
			t.Fatal(err)
		}
	}
	e := testkit.New(t, testkit.Options{Cluster: options, NoManager: true})
	for _, path := range manifests {
		if _, err := manager.Kubectl(t.Context(), e.Cluster, "apply", "--server-side", "-f", path); err != nil {
			t.Fatal(err)
		}
	}
	configure(t, e, "Enforce")
	e.Install(t)
	return e
}

// configure has all features be in a mode.
func configure(t *testing.T, e *testkit.Env, mode string) {
	t.Helper()
	// The installation applies the ConfigMap too, without what people write there.
	out := e.KubectlInput(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: holdfast}
data:
  config.yaml: |
    apiVersion: config.holdfast.dev/v1alpha1
    kind: HoldfastConfiguration
    featureGates: {DeletionProtectionByDefault: true}
    deletion: {mode: `+mode+`, labels: {karmada: Strict, kruise: Strict}}
    eviction: {mode: `+mode+`}
    hierarchy: {mode: `+mode+`}
    serviceAccounts: {mode: Enforce}
`, "apply", "--server-side", "--field-manager=operator", "-n", "holdfast-system", "-f", "-")
	if out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

func evict(t *testing.T, e *testkit.Env, ns, name string) error {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	return e.Client.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{})
}
