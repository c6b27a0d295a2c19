// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestRights_ofAListOfNamespacesAreEnoughToRespond(t *testing.T) {
	t.Parallel()
	options, log := audited(t)
	options.FeatureGates, options.RuntimeConfig = []string{"EvictionRequestAPI=true"}, []string{"lifecycle.k8s.io/v1alpha1=true"}
	e := withListedRights(t, testkit.Options{Cluster: options, ManagerArgs: []string{"--feature-gates=+EvictionRequestResponder"}})
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
	if got := forbidden(t, log); len(got) > 0 {
		t.Errorf("requests that the API server refused:\n%s", strings.Join(got, "\n"))
	}
}
