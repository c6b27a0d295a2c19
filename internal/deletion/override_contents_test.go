// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestOverride_ofANamespace(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, "", user)
	e.Grant(t, "", user, testkit.Rule("", []string{"namespaces"}, "delete"))
	configMap(t, e, ns, "strict", strict+"=Always")
	configMap(t, e, ns, "karmada", karmada+"=Always")
	configMap(t, e, ns, "ruled")
	configMap(t, e, ns, "loose")
	e.Apply(t, ns, deployment("web", "1"))
	done(t, e, "label", "deployment", "web", "-n", ns, kruise+"=Cascading")
	end := protect(t, e, ns, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`, name: ruled}]}]}`)
	defer end()
	namespace := &corev1.Namespace{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: ns}, namespace); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Patch(t.Context(), namespace, mergeLabels(map[string]any{strict: "Always"})); err != nil {
		t.Fatal(err)
	}
	g.Eventually(protectedBy(t, e, "configmap", "ruled", "-n", ns), "180s", "50ms").Should(gomega.Equal(ns))
	g.Eventually(annotation(t, e, v1alpha1.HoldsProtectedMark, "namespace", ns), "180s", "50ms").Should(gomega.HavePrefix("4 protected objects: "))

	// Without what is in it.
	endAlone := ask(t, e, c, overrideOf(t, e, ns+"-alone", user, namespace))
	defer endAlone()
	g.Eventually(stampOf(t, e, namespace), "180s", "50ms").Should(gomega.Equal(ns + "-alone"))
	g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring("namespaces/" + ns + " is not deleted because of what hangs below it: 4 protected objects: configmaps/karmada, configmaps/ruled, configmaps/strict and 1 more"))
	mustStand(t, e, namespace)
	endAlone()

	// With it.
	all := overrideOf(t, e, ns, user, namespace)
	all.Spec.IncludeContents = true
	endAll := ask(t, e, c, all)
	defer endAll()
	g.Eventually(label(t, e, v1alpha1.OverrideContentsMark, "namespace", ns), "180s", "50ms").Should(gomega.Equal(ns))
	refused(t, e, "delete", "configmap", "strict", "-n", ns) // only with the namespace
	if err := c.Delete(t.Context(), namespace.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	mustGo(t, e, namespace)
	g.Eventually(phase(t, e, ns), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
}

func TestOverride_ofACustomResourceDefinition(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, "", user)
	group := ns + ".example.com"
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "widgets." + group
	defer takeAway(t, e, "crd", crd.Name)
	applyWidgets(t, e, group)
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: kept, labels: {holdfast.dev/deletion-protected: Always}}}`)
	e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: loose}}`)
	if err := e.Client.Patch(t.Context(), crd, mergeLabels(map[string]any{strict: "Always"})); err != nil {
		t.Fatal(err)
	}
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "crd", crd.Name), "180s", "50ms").Should(gomega.Equal("true"))

	endAlone := ask(t, e, c, overrideOf(t, e, ns+"-alone", user, crd))
	defer endAlone()
	g.Eventually(stampOf(t, e, crd), "180s", "50ms").Should(gomega.Equal(ns + "-alone"))
	g.Expect(refused(t, e, "delete", "crd", crd.Name)).To(gomega.ContainSubstring("1 protected object: " + ns + "/widgets." + group + "/kept"))
	endAlone()

	all := overrideOf(t, e, ns, user, crd)
	all.Spec.IncludeContents = true
	end := ask(t, e, c, all)
	defer end()
	g.Eventually(label(t, e, v1alpha1.OverrideContentsMark, "crd", crd.Name), "180s", "50ms").Should(gomega.Equal(ns))
	done(t, e, "delete", "crd", crd.Name, "--wait=false")
	mustGo(t, e, crd)
	g.Eventually(phase(t, e, ns), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
}

// An owner whose protected dependant the garbage collector would delete.
func TestOverride_ofAnOwnerDoesNotFreeWhatItOwns(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, ns, user)
	owner := configMap(t, e, ns, "owner", strict+"=Always")
	e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, labels: {holdfast.dev/deletion-protected: Always}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: `+string(owner.UID)+`}]}}`)
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "configmap", "owner", "-n", ns), "180s", "50ms").Should(gomega.Equal("true"))
	end := ask(t, e, c, overrideOf(t, e, ns, user, owner))
	defer end()
	g.Eventually(stampOf(t, e, owner), "180s", "50ms").Should(gomega.Equal(ns))
	if err := tryDelete(t.Context(), e.Client, owner); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a 403 for what the owner would take with it", err)
	}
	g.Expect(refused(t, e, "delete", "configmap", "owner", "-n", ns)).To(gomega.ContainSubstring("configmaps/owner is not deleted because of what hangs below it: 1 protected object: configmaps/owned"))
	done(t, e, "delete", "configmap", "owner", "-n", ns, "--cascade=orphan")
	done(t, e, "get", "configmap", "owned", "-n", ns)
}

// Two overrides of one object do not get into each other's way.
func TestOverride_twoOfOneObject(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, ns, user)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	short, long := ns+"-2-short", ns+"-1-long"
	o := overrideOf(t, e, long, user, cm)
	end := ask(t, e, c, o)
	defer end()
	g.Eventually(phase(t, e, long), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideActive))
	o = overrideOf(t, e, short, user, cm)
	o.Spec.Duration = "2s"
	endSecond := ask(t, e, c, o)
	defer endSecond()
	g.Eventually(phase(t, e, short), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideExpired))
	g.Consistently(stampOf(t, e, cm), "1s", "50ms").Should(gomega.Equal(long))
	if err := tryDelete(t.Context(), e.Client, cm); err != nil {
		t.Errorf("one override is in force still: %v", err)
	}
	done(t, e, "delete", "configmap", "x", "-n", ns)
	g.Eventually(phase(t, e, long), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
	g.Expect(phase(t, e, short)()).To(gomega.Equal(v1alpha1.OverrideExpired))
}
