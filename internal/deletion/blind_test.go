// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"slices"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestBlind is one test on a cluster of its own, one part after the other: a kind that Holdfast cannot read
// keeps every namespace of a cluster.
func TestBlind(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	t.Run("what cannot be looked at is not deleted", func(t *testing.T) { refuseWhatCannotBeListed(t, e) })
	t.Run("a protection says that its kind cannot be watched any more", func(t *testing.T) { sayWhatCannotBeWatched(t, e) })
	t.Run("what cannot be marked is looked at", func(t *testing.T) { closeTheMoment(t, e) })
}

// refuseWhatCannotBeListed has a kind that could hold anything.
func refuseWhatCannotBeListed(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	// Stored in one version, served in another through a webhook that nobody
	// answers: listing it fails.
	e.Apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: broken.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: broken, singular: broken, kind: Broken, listKind: BrokenList}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`)
	g.Eventually(func() string {
		return e.KubectlInput(t, `{apiVersion: example.org/v1, kind: Broken, metadata: {name: one}}`, "apply", "-n", ns, "-f", "-").Stderr
	}, "180s", "100ms").Should(gomega.BeEmpty())
	g.Eventually(func() string {
		return e.Kubectl(t, "delete", "namespace", ns, "--dry-run=server").Stderr
	}, "180s", "200ms").Should(gomega.And(
		gomega.ContainSubstring("because broken.example.org could not be looked at"),
		gomega.ContainSubstring("kubectl annotate namespace "+ns+" holdfast.dev/delete-unchecked="+ns)))
	done(t, e, "annotate", "namespace", ns, v1alpha1.DeleteUncheckedAnnotation+"="+ns)
	done(t, e, "delete", "namespace", ns, "--dry-run=server")
	done(t, e, "patch", "crd", "broken.example.org", "--type=merge", "-p", `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
}

// sayWhatCannotBeWatched has a kind that was watched. It can become one that nobody can read: here its conversion
// webhook goes.
func sayWhatCannotBeWatched(t *testing.T, e *testkit.Env) {
	testkit.Long(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	group := ns + ".example.com"
	conversion := func(how string) {
		t.Helper()
		e.Apply(t, "", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.`+group+`}, spec: {
			group: `+group+`, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, conversion: {`+how+`}, versions: [
			{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}},
			{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	}
	const none = "strategy: None"
	conversion(none)
	defer takeAway(t, e, "crd", "widgets."+group)
	if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets."+group, "--timeout=30s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: w}}`)
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: `+group+`/v1, kind: Widget, namespace: `+ns+`}]}]}`)
	defer end()
	status := statusOf(t, e, ns, readyOf+` {.status.unenforceable[*].reason} {.status.unenforceable[*].message}`)
	g.Eventually(status, "180s", "100ms").Should(gomega.Equal("True Protected  "))

	conversion(`strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/none"}}`)
	g.Eventually(status, "150s", "500ms").Should(gomega.HavePrefix("False Unenforceable NotMarked objects of this kind cannot be watched: "))
	conversion(none)
	g.Eventually(status, "180s", "200ms").Should(gomega.Equal("True Protected  "))
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: later}}`)
	g.Eventually(protectedBy(t, e, "widget."+group, "later", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
}

// closeTheMoment is between a label and its mark. The label was acknowledged before the DELETE was sent, so the namespace must
// stay, although its mark is not there: here Holdfast may not write any.
func closeTheMoment(t *testing.T, e *testkit.Env) {
	role := &rbacv1.ClusterRole{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-guard"}, role); err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		if slices.Equal(role.Rules[i].Resources, []string{"*"}) {
			role.Rules[i].Verbs = []string{"get", "list", "watch"}
		}
	}
	if err := e.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	labelled, selected, named, claimed := e.Namespace(t), e.Namespace(t), e.Namespace(t), e.Namespace(t)
	g := gomega.NewWithT(t)
	selectConfigMaps(t, e, named, "named", "kept")
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: selected}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {keep: "yes"}}}]}]}}`)
	configMap(t, e, selected, "kept", "keep=yes")
	configMap(t, e, named, "kept")
	configMap(t, e, labelled, "kept", strict+"=Always")
	e.Apply(t, "", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: kept, labels: {holdfast.dev/deletion-protected: Always}}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
		persistentVolumeReclaimPolicy: Delete, hostPath: {path: /tmp/holdfast-kept}, claimRef: {namespace: `+claimed+`, name: data}}}`)
	e.Apply(t, claimed, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: "", volumeName: kept, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	g.Eventually(read(t, e, "{.status.phase}", "pvc", "data", "-n", claimed), "180s", "50ms").Should(gomega.Equal("Bound"))
	for _, ns := range []string{labelled, selected, named, claimed} {
		found := "configmaps/kept"
		if ns == claimed {
			found = "persistentvolumes/kept"
		}
		var err error
		g.Eventually(func() bool { // as soon as this replica knows the protections
			err = e.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.DryRunAll)
			return apierrors.IsForbidden(err)
		}, "180s", "50ms").Should(gomega.BeTrue(), "%s: %v", ns, err)
		g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring(deletion.ConfirmName), gomega.ContainSubstring("1 protected object: "+found)))
		g.Expect(label(t, e, v1alpha1.MarkedLabel, "namespace", ns)()).To(gomega.BeEmpty())
	}
}
