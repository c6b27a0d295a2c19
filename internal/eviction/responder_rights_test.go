// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

func TestRights_ofAListOfNamespacesAreEnoughToRespond(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	served := cluster.Options{FeatureGates: []string{"EvictionRequestAPI=true"}, RuntimeConfig: []string{"lifecycle.k8s.io/v1alpha1=true"}}
	e := withListedRights(t, testkit.Options{Cluster: served, ManagerArgs: []string{"--feature-gates=+EvictionRequestResponder"}})
	g := gomega.NewWithT(t)
	p := pod(t, e, "kafka-prod", "my-cluster-kafka-0", kafka("my-cluster-kafka"))
	e.Apply(t, "kafka-prod", `{apiVersion: lifecycle.k8s.io/v1alpha1, kind: Eviction, metadata: {name: e, labels: {eviction.holdfast.dev/guard: responder}},
		spec: {target: {pod: {name: `+p.Name+`, uid: `+string(p.UID)+`}}}}`)
	status := `{"status": {"targetResponders": [{"name": "eviction.holdfast.dev/guard", "priority": 10000, "state": "Active"}],
		"responders": [{"name": "eviction.holdfast.dev/guard", "startTime": "` + metav1.Now().UTC().Format("2006-01-02T15:04:05Z") + `"}]}}`
	if out := e.Kubectl(t, "patch", "evictions.lifecycle.k8s.io/e", "-n", "kafka-prod", "--subresource=status", "--type=merge", "-p", status); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	g.Eventually(func() string {
		return e.Kubectl(t, "get", "evictions.lifecycle.k8s.io/e", "-n", "kafka-prod", "-o", "jsonpath={.status.responders[0].message}").Stdout
	}, "180s", "200ms").Should(gomega.Equal("The pod will be rolled by the Strimzi Cluster Operator"))
	if got := forbidden(t, e); got > 0 {
		t.Errorf("the API server refused %v requests of the guard", got)
	}
}
