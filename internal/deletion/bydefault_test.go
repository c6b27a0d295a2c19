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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// declare has a namespace protect objects of some kinds by default.
func declare(t testing.TB, e *testkit.Env, ns, kinds string) {
	t.Helper()
	done(t, e, "annotate", "namespace", ns, v1alpha1.ProtectByDefaultLabel+"="+kinds)
	done(t, e, "label", "namespace", ns, v1alpha1.ProtectByDefaultLabel+"=Always")
}

// declaration changes one part of a Namespace's metadata.
func declaration(part, value string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"`+part+`":{"`+v1alpha1.ProtectByDefaultLabel+`":`+value+`}}}`))
}

// byDefault is with the gate on.
func byDefault(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	ns, other := e.Namespace(t), e.Namespace(t)
	owner := configMap(t, e, ns, "owner")
	for _, where := range []string{ns, other} {
		e.Apply(t, where, deployment("web", "0"))
		e.Apply(t, where, `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
		configMap(t, e, where, "x")
	}
	for name, controller := range map[string]string{"controlled": "true", "owned": "false"} {
		e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: `+string(owner.UID)+`, controller: `+controller+`}]}}`)
	}
	declare(t, e, ns, "deployments.apps, configmaps")
	declare(t, e, other, "")

	dryRun := func(ns, object string) []string { return []string{"delete", object, "-n", ns, "--dry-run=server"} }
	g.Eventually(func() int { return e.Kubectl(t, dryRun(ns, "configmaps/x")...).Code }, "180s", "100ms").ShouldNot(gomega.BeZero())
	for _, object := range []string{"deployments.apps/web", "configmaps/x", "configmaps/owned"} {
		g.Expect(refused(t, e, dryRun(ns, object)...)).To(gomega.ContainSubstring(object +
			" is protected from deletion because its namespace declares that for its kind, by the annotation holdfast.dev/protect-by-default. " +
			"To let this one object go for a while: kubectl holdfast override ask " + object + " -n " + ns + " --reason WHY"))
	}
	done(t, e, dryRun(ns, "secret/s")...)
	done(t, e, "delete", "configmap/controlled", "-n", ns)
	g.Expect(refused(t, e, "delete", "configmaps", "--all", "-n", ns, "--dry-run=server")).To(gomega.ContainSubstring("because its namespace declares that"))
	done(t, e, dryRun(other, "deployments.apps/web")...)
	done(t, e, dryRun(other, "configmaps/x")...)
	for _, namespace := range []string{ns, other} {
		g.Expect(refused(t, e, "delete", "namespace", namespace)).To(gomega.ContainSubstring(
			"namespaces/" + namespace + " declares that what is in it is protected from deletion, by the label holdfast.dev/protect-by-default; take the label away first, which needs the right to unprotect, or ask for an override that includes its contents"))
	}

	// The list follows the annotation.
	done(t, e, "annotate", "namespace", ns, v1alpha1.ProtectByDefaultLabel+"=secrets", "--overwrite")
	done(t, e, dryRun(ns, "configmaps/x")...)
	refused(t, e, dryRun(ns, "secret/s")...)
	done(t, e, "label", "namespace", ns, v1alpha1.ProtectByDefaultLabel+"-")
	done(t, e, dryRun(ns, "secret/s")...)
	done(t, e, "delete", "namespace", ns, "--wait=false")
	mustGo(t, e, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
}

func byDefaultRights(t *testing.T, e *testkit.Env) {
	ns := e.Namespace(t)
	declare(t, e, ns, "configmaps")
	for _, user := range []string{"editor", "tenant", "admin"} {
		everything(t, e, user)
	}
	mayUnprotect(t, e, ns, "tenant")
	mayUnprotect(t, e, "", "admin")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	want := "namespaces/" + ns + ` declares what is protected from deletion in it; changing that needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev, cluster-wide`
	for _, user := range []string{"editor", "tenant"} {
		for _, subresource := range []string{"", "status"} {
			for name, patch := range map[string]client.Patch{
				"the label taken away":      declaration("labels", "null"),
				"the label emptied":         declaration("labels", `""`),
				"the annotation taken away": declaration("annotations", "null"),
				"the annotation changed":    declaration("annotations", `"secrets"`),
			} {
				var err error
				if subresource == "" {
					err = e.As(t, user).Patch(t.Context(), namespace.DeepCopy(), patch)
				} else {
					err = e.As(t, user).SubResource(subresource).Patch(t.Context(), namespace.DeepCopy(), patch)
				}
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s by %s through %q: got %v, want a 403 with %q", name, user, subresource, err, want)
				}
			}
		}
		if err := e.As(t, user).Patch(t.Context(), namespace.DeepCopy(), mergeLabels(map[string]any{"unrelated": user})); err != nil {
			t.Errorf("an unrelated label by %s: %v", user, err)
		}
	}
	// A controller takes an object out of the protection.
	x := configMap(t, e, ns, "x")
	control := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"nobody","uid":"nothing","controller":true}]}}`))
	gomega.NewWithT(t).Eventually(func() error { return e.As(t, "editor").Patch(t.Context(), x.DeepCopy(), control, client.DryRunAll) }, "180s", "100ms").
		Should(gomega.MatchError(gomega.ContainSubstring("what has a controller is not; naming one needs")))
	if err := e.As(t, "tenant").Patch(t.Context(), x.DeepCopy(), control, client.DryRunAll); err != nil {
		t.Errorf("a controller is named with the right in the namespace: %v", err)
	}
	for _, patch := range []client.Patch{declaration("annotations", `"secrets"`), declaration("labels", "null")} {
		if err := e.As(t, "admin").Patch(t.Context(), namespace.DeepCopy(), patch); err != nil {
			t.Errorf("with the right cluster-wide: %v", err)
		}
	}
	// Declaring it is open to whoever may edit the Namespace.
	if err := e.As(t, "editor").Patch(t.Context(), namespace.DeepCopy(), declaration("labels", `"Always"`)); err != nil {
		t.Errorf("declaring it again: %v", err)
	}
}

func byDefaultOverrides(t *testing.T, e *testkit.Env) {
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	cm := configMap(t, e, ns, "x")
	configMap(t, e, ns, "y")
	declare(t, e, ns, "configmaps")
	c := asker(t, e, "", "asker")
	endOne := ask(t, e, c, overrideOf(t, e, ns+"-x", "asker", cm))
	defer endOne()
	g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.Equal(ns + "-x"))
	done(t, e, "delete", "configmap", "x", "-n", ns)
	refused(t, e, "delete", "configmap", "y", "-n", ns)

	namespace := &corev1.Namespace{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: ns}, namespace); err != nil {
		t.Fatal(err)
	}
	// Without its contents it would never come to an end.
	end := ask(t, e, c, overrideOf(t, e, ns+"-alone", "asker", namespace))
	g.Eventually(stampOf(t, e, namespace), "180s", "50ms").Should(gomega.Equal(ns + "-alone"))
	refused(t, e, "delete", "namespace", ns, "--wait=false")
	end()
	all := overrideOf(t, e, ns, "asker", namespace)
	all.Spec.IncludeContents = true
	endAll := ask(t, e, c, all)
	defer endAll()
	g.Eventually(label(t, e, v1alpha1.OverrideContentsMark, "namespace", ns), "180s", "50ms").Should(gomega.Equal(ns))
	done(t, e, "delete", "namespace", ns, "--wait=false")
	mustGo(t, e, namespace)
}

func TestByDefault_doesNothingWithoutItsGate(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor := "editor-" + ns
	everything(t, e, editor)
	configMap(t, e, ns, "x")
	declare(t, e, ns, "configmaps")
	done(t, e, "delete", "configmap", "x", "-n", ns)
	done(t, e, "delete", "namespace", ns, "--dry-run=server")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	for _, part := range []string{"annotations", "labels"} {
		if err := e.As(t, editor).Patch(t.Context(), namespace.DeepCopy(), declaration(part, "null")); err != nil {
			t.Errorf("taking the %s away: %v", part, err)
		}
	}
}
