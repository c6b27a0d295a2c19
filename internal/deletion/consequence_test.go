// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// answered runs kubectl until Holdfast could look in time, which takes more than one try on a busy machine.
func answered(t testing.TB, e *testkit.Env, args ...string) (out testkit.Output) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string {
		out = e.Kubectl(t, args...)
		return out.Stderr
	}, "180s", "200ms").ShouldNot(gomega.ContainSubstring("context deadline exceeded"))
	return out
}

// refused runs kubectl and returns what it says, which must be a refusal.
func refused(t testing.TB, e *testkit.Env, args ...string) string {
	t.Helper()
	out := answered(t, e, args...)
	if out.Code == 0 {
		t.Errorf("kubectl %s: done, want a refusal", strings.Join(args, " "))
	}
	return out.Stderr
}

func done(t testing.TB, e *testkit.Env, args ...string) {
	t.Helper()
	if out := answered(t, e, args...); out.Code != 0 {
		t.Errorf("kubectl %s: %s", strings.Join(args, " "), out.Stderr)
	}
}

// The namespace, the definition and the owner above a protected object are
// marked, refuse to go, and are free again once the object is.
func TestConsequence_whatIsAboveIsMarked(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	uid := read(t, e, "{.metadata.uid}", "statefulset", "db", "-n", ns)()
	e.Apply(t, ns, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, labels: {holdfast.dev/deletion-protected: Always}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: `+uid+`}]}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)

	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "namespace", ns), "180s", "50ms").Should(gomega.Equal("true"))
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "statefulset", "db", "-n", ns), "180s", "50ms").Should(gomega.Equal("true"))
	g.Expect(annotation(t, e, v1alpha1.HoldsProtectedMark, "namespace", ns)()).To(gomega.Equal("1 protected object: persistentvolumeclaims/data"))

	g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring("namespaces/" + ns + " is not deleted because of what hangs below it: 1 protected object: persistentvolumeclaims/data"))
	g.Expect(refused(t, e, "delete", "statefulset", "db", "-n", ns)).To(gomega.ContainSubstring("statefulsets.apps/db is not deleted because of what hangs below it: 1 protected object: persistentvolumeclaims/data"))

	done(t, e, "label", "pvc", "data", "-n", ns, strict+"-")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "namespace", ns), "180s", "50ms").Should(gomega.BeEmpty())
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "statefulset", "db", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "statefulset", "db", "-n", ns)
}

func TestProtection_theSeedsSample(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	for _, name := range []string{"deployment-1", "deployment-2", "deployment-3"} {
		e.Apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	}
	e.Apply(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: service-1}, spec: {ports: [{port: 80}]}}`)
	e.Apply(t, "", `
apiVersion: holdfast.dev/v1alpha1
kind: ResourceDeletionProtection
metadata:
  name: `+ns+`
spec:
  protectedResources:
  - resourceSelector:
    - apiVersion: "apps/v1"
      kind: "Deployment"
      namespace: "`+ns+`"
    resourceNames:
    - "deployment-1"
    - "deployment-2"
  - resourceSelector:
    - apiVersion: "v1"
      kind: "Service"
      name: "service-1"
      namespace: "`+ns+`"
    resourceNames:
    - "service-1"
`)

	g.Eventually(label(t, e, v1alpha1.ProtectedByMark, "deployment", "deployment-1", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Eventually(label(t, e, v1alpha1.ProtectedByMark, "service", "service-1", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Expect(refused(t, e, "delete", "deployment", "deployment-1", "-n", ns)).To(gomega.ContainSubstring("deployments.apps/deployment-1 is protected from deletion by ResourceDeletionProtection " + ns))
	done(t, e, "delete", "deployment", "deployment-3", "-n", ns)
	g.Eventually(statusOf(t, e, ns, `{.status.matches} {.status.conditions[0].reason}`), "180s", "100ms").Should(gomega.Equal(`{"kinds":[{"count":1,"kind":"Service"},{"count":2,"group":"apps","kind":"Deployment"}],"total":3} Protected`))
	g.Eventually(func() string { return refused(t, e, "delete", "namespace", ns) }, "180s", "100ms").Should(gomega.ContainSubstring("3 protected objects: deployments.apps/deployment-1, deployments.apps/deployment-2, services/service-1"))
	done(t, e, "delete", "rdp", ns)
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "deployment", "deployment-1", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "namespace", ns), "180s", "50ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "namespace", ns, "--wait=false")
}
