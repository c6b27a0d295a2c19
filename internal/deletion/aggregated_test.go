// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"encoding/json"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/aggregated"
)

// What extension API servers serve is protected where they ask the cluster's
// policies; where they do not, that is said. The APIService is protected for
// both.
func TestProtection_ofAggregatedAPIs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	for _, tt := range []struct {
		name   string
		server aggregated.Group
		status string
		goes   bool
	}{
		{name: "asks", server: aggregated.WithAdmission, status: "True Protected "},
		{name: "asks-not", server: aggregated.WithoutAdmission, status: "False Unenforceable AdmissionNotRun", goes: true},
	} {
		aggregated.Start(t, e, tt.server)
		o := tt.server.New(ns, "one", nil)
		if err := e.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		group := o.GroupVersionKind().Group
		e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: `+tt.name+`}, spec: {protectedResources: [{resourceSelector: [{apiVersion: `+group+`/v1, kind: Flunder, name: one, namespace: `+ns+`}]}]}}`)
		g.Eventually(statusOf(t, e, tt.name, `{.status.conditions[0].status} {.status.conditions[0].reason} {.status.unenforceable[*].reason}`), "180s", "200ms").Should(gomega.Equal(tt.status), tt.name)
		g.Eventually(label(t, e, v1alpha1.ProtectedByMark, "apiservice", "v1."+group), "180s", "100ms").Should(gomega.Equal(tt.name))
		g.Expect(refused(t, e, "delete", "apiservice", "v1."+group)).To(gomega.ContainSubstring("ResourceDeletionProtection " + tt.name))
		if tt.goes {
			done(t, e, "delete", "flunders."+group, "one", "-n", ns)
			continue
		}
		g.Eventually(label(t, e, v1alpha1.ProtectedByMark, "flunders."+group, "one", "-n", ns), "180s", "100ms").Should(gomega.Equal(tt.name))
		g.Expect(refused(t, e, "delete", "flunders."+group, "one", "-n", ns)).To(gomega.ContainSubstring("ResourceDeletionProtection " + tt.name))
		// The list of what hangs below leaves it out and says so.
		other := e.Namespace(t)
		g.Expect(e.Kubectl(t, "delete", "namespace", other, "--dry-run=server").Stderr).To(gomega.ContainSubstring("flunders." + group))
		done(t, e, "delete", "rdp", tt.name)
		g.Eventually(label(t, e, v1alpha1.MarkedLabel, "apiservice", "v1."+group), "180s", "100ms").Should(gomega.BeEmpty())
	}
	done(t, e, "delete", "rdp", "asks-not")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "apiservice", "v1.without-admission.example.org"), "180s", "100ms").Should(gomega.BeEmpty())
}

// An extension API server that does not answer holds up nothing but its own kinds,
// also at the start. They come when it answers.
func TestProtection_startsBesideABrokenAggregatedAPI(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	g := gomega.NewWithT(t)
	aggregated.Start(t, e, aggregated.WithAdmission)
	ns, group := e.Namespace(t), string(aggregated.WithAdmission)
	o := aggregated.WithAdmission.New(ns, "one", nil)
	if err := e.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	configMap(t, e, ns, "x")
	// It comes back as one that the API server has never reached.
	api := &unstructured.Unstructured{}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "v1." + group}, api); err != nil {
		t.Fatal(err)
	}
	works := api.DeepCopy()
	done(t, e, "delete", "apiservice", api.GetName())
	api.SetResourceVersion("")
	api.SetUID("")
	if err := unstructured.SetNestedField(api.Object, int64(1), "spec", "service", "port"); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Create(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	finder, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() error {
		_, err := discovery.ServerPreferredResources(finder)
		return err
	}, "180s", "200ms").Should(gomega.MatchError(gomega.ContainSubstring(group)))

	e.StartManager(t) // returns once it is ready
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [
		{apiVersion: v1, kind: ConfigMap, name: x, namespace: `+ns+`}, {apiVersion: `+group+`/v1, kind: Flunder, name: one, namespace: `+ns+`}]}]}`)
	defer func() {
		end()
		// Whoever takes marks off ends before the group leaves the cluster.
		g.Eventually(label(t, e, v1alpha1.MarkedLabel, "apiservice", api.GetName()), "180s", "100ms").Should(gomega.BeEmpty())
	}()
	g.Eventually(protectedBy(t, e, "configmap", "x", "-n", ns), "180s", "100ms").Should(gomega.Equal(ns))
	g.Eventually(statusOf(t, e, ns, readyOf+` {.status.unenforceable[*].reason}`), "180s", "100ms").Should(gomega.Equal("False Unenforceable NoSuchKind"))

	spec, err := json.Marshal(map[string]any{"spec": works.Object["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	done(t, e, "patch", "apiservice", api.GetName(), "--type=merge", "-p", string(spec))
	g.Eventually(statusOf(t, e, ns, readyOf), "180s", "100ms").Should(gomega.Equal("True Protected"))
	g.Expect(refused(t, e, "delete", "flunders."+group, "one", "-n", ns)).To(gomega.ContainSubstring("ResourceDeletionProtection " + ns))
}
