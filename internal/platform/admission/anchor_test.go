// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The anchor is Holdfast's emergency stop, with the manager and without. One after the other, since a
// cluster has one.
func TestAnchor_deletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	all := len(admissionObjects(t, e))
	t.Run("the garbage collector may not delete it without the annotation", func(t *testing.T) {
		deleteAnchor(t, e)
		owner := &corev1.Namespace{}
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: e.Namespace(t)}, owner); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"anchor-other", admission.AnchorName} {
			e.Apply(t, "", fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s,
				ownerReferences: [{apiVersion: v1, kind: Namespace, name: %s, uid: %s}]}, rules: []}`, name, owner.Name, owner.UID))
		}
		mustBeInstalled(t, e, all)
		if err := e.Client.Delete(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		gomega.NewWithT(t).Eventually(func() string {
			return e.Kubectl(t, "get", "clusterrole", "anchor-other", "--ignore-not-found", "-o", "name").Stdout
		}, "180s", "100ms").Should(gomega.BeEmpty(), "the garbage collector does not look")
		if out := e.Kubectl(t, "patch", "clusterrole", admission.AnchorName, "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`); out.Code != 0 {
			t.Errorf("the anchor is gone: %s", out.Stderr)
		}
	})
	t.Run("with the manager alive, though a tenant's object names it as its owner and a label and a protection protect it", func(t *testing.T) {
		g := gomega.NewWithT(t)
		ns, anchor := e.Namespace(t), &rbacv1.ClusterRole{}
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: admission.AnchorName}, anchor); err != nil {
			t.Fatal(err)
		}
		e.Grant(t, ns, "tenant", testkit.Rule("", []string{"configmaps"}, "create"))
		blocker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "blocker", Labels: map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: anchor.Name, UID: anchor.UID}},
		}}
		g.Eventually(func() error { return e.As(t, "tenant").Create(t.Context(), blocker.DeepCopy()) }, "180s", "100ms").Should(gomega.Succeed())
		if out := e.Kubectl(t, "label", "clusterrole", admission.AnchorName, v1alpha1.DeletionProtectedLabel+"="+v1alpha1.ProtectAlways); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		e.Apply(t, "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: anchor-beside}, rules: []}")
		e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: anchor}, spec: {reason: none, protectedResources: [
			{resourceSelector: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: `+admission.AnchorName+`}, {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: anchor-beside}]}]}}`)
		for _, marked := range []string{"namespace/" + ns, "clusterrole/anchor-beside"} { // the manager knows the tenant's object and the protection
			g.Eventually(func() string { return e.Kubectl(t, "get", marked, "-o", "yaml").Stdout }, "180s", "100ms").Should(gomega.ContainSubstring(v1alpha1.MarkedLabel))
		}
		deleteAnchor(t, e)
		if out := e.Kubectl(t, "delete", "rdp", "anchor"); out.Code != 0 {
			t.Error(out.Stderr)
		}
		makeAnchor(t, e)
		mustBeInstalled(t, e, all)
	})
	t.Run("with the manager alive", func(t *testing.T) {
		deleteAnchor(t, e)
		g := gomega.NewWithT(t)
		g.Eventually(func() string { return condition(t, e, v1alpha1.ConditionAdmissionInstalled).Reason }, "180s", "100ms").
			Should(gomega.Equal(v1alpha1.ReasonAnchorMissing))
		g.Eventually(func() float64 { return e.Metric(t, "holdfast_anchor_present") }, "180s", "100ms").Should(gomega.BeZero())
		if err := e.Manager.Ready(t.Context()); err != nil {
			t.Errorf("the state of the policies takes the replica out of service: %v", err)
		}
		makeAnchor(t, e)
		mustBeInstalled(t, e, all)
	})
	t.Run("so that what it owned stays", func(t *testing.T) {
		deleteAnchor(t, e, "--cascade=orphan")
		makeAnchor(t, e)
		mustBeInstalled(t, e, all)
	})
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	// Written while the manager is down, nobody refuses it.
	t.Run("the manager does not start on a bad configuration, and says why", func(t *testing.T) {
		configure(t, e, badConfiguration)
		p := e.StartManagerNotReady(t)
		gomega.NewWithT(t).Eventually(p.Done(), "180s").Should(gomega.BeClosed(), "it does not end")
		if !strings.Contains(p.LogTail(), "deletion.mode") {
			t.Errorf("the manager's last words do not name the field:\n%s", p.LogTail())
		}
		configure(t, e, "deletion: {mode: Enforce}")
	})
	t.Run("with the manager dead", func(t *testing.T) {
		deleteAnchor(t, e)
		makeAnchor(t, e)
		e.Manager = e.StartManager(t)
		mustBeInstalled(t, e, all)
	})
}

// deleteAnchor deletes it, and returns when nothing of Holdfast is in force or there.
func deleteAnchor(t *testing.T, e *testkit.Env, args ...string) {
	t.Helper()
	for _, args := range [][]string{
		{"annotate", "clusterrole", admission.AnchorName, v1alpha1.StopAnnotation + "=" + admission.AnchorName},
		append([]string{"delete", "clusterrole", admission.AnchorName}, args...),
	} {
		if out := e.Kubectl(t, args...); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
	}
	if err := e.WaitNotEnforced(t.Context()); err != nil {
		t.Error(err)
	}
	gomega.NewWithT(t).Eventually(func() []string { return admissionObjects(t, e) }, "180s", "100ms").Should(gomega.BeEmpty())
}

func makeAnchor(t *testing.T, e *testkit.Env) {
	t.Helper()
	if out := e.Kubectl(t, "create", "clusterrole", admission.AnchorName, "--verb=get", "--resource=configmaps", "--resource-name=none"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

func mustBeInstalled(t *testing.T, e *testkit.Env, all int) {
	t.Helper()
	if err := e.WaitEnforced(t.Context()); err != nil {
		t.Error(err)
	}
	g := gomega.NewWithT(t)
	g.Eventually(func() int { return len(admissionObjects(t, e)) }, "180s", "100ms").Should(gomega.Equal(all))
	g.Eventually(func() metav1.ConditionStatus { return condition(t, e, v1alpha1.ConditionReady).Status }, "180s", "100ms").
		Should(gomega.Equal(metav1.ConditionTrue))
}
