// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const needsVerb = `needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev`

// everything lets a user do all that RBAC governs in Kubernetes' own groups,
// and not unprotect.
func everything(t testing.TB, e *testkit.Env, user string) {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for _, group := range []string{"", "apps", "batch", "discovery.k8s.io", "apiextensions.k8s.io"} {
		rules = append(rules, testkit.Rule(group, []string{"*"}, "*"))
	}
	e.Grant(t, "", user, rules...)
}

func mayUnprotect(t testing.TB, e *testkit.Env, ns, user string) {
	t.Helper()
	e.Grant(t, ns, user, testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.UnprotectVerb))
}

func mergeLabels(labels map[string]any) client.Patch {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		panic(err) // strings and nil always encode
	}
	return client.RawPatch("application/merge-patch+json", body)
}

// Every way to take the strict label off a protected object, on the kinds whose
// subresources take metadata.
func TestUnprotect_everyPathNeedsTheRight(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	editor := "editor-" + e.Namespace(t)
	everything(t, e, editor)

	targets := []struct{ yaml, subresource string }{
		{yaml: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`},
		{yaml: `{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}`},
		{yaml: `{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}`, subresource: "status"},
		{yaml: `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}]}}`, subresource: "status"},
		{yaml: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, subresource: "status"},
		{yaml: `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: c, image: i}]}}`, subresource: "status"},
		{yaml: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`, subresource: "status"},
		{yaml: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.NAMESPACE.example.com}, spec: {group: NAMESPACE.example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`, subresource: "status"},
	}
	ways := []struct {
		name   string
		labels map[string]any
	}{
		{"taken away", map[string]any{strict: nil}},
		{"emptied", map[string]any{strict: ""}},
	}
	for _, target := range targets {
		for _, way := range ways {
			o := &unstructured.Unstructured{}
			ns := e.Namespace(t)
			decodeYAML(t, strings.ReplaceAll(target.yaml, "NAMESPACE", ns), o)
			t.Run(fmt.Sprintf("%s %s through %q", o.GetKind(), way.name, target.subresource), func(t *testing.T) {
				t.Parallel()
				o.SetLabels(map[string]string{strict: "Always"})
				if o.GetKind() != "Namespace" && o.GetKind() != "CustomResourceDefinition" {
					o.SetNamespace(ns)
				}
				// Applied, because the namespace is there already.
				if err := e.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership); err != nil {
					t.Fatal(err)
				}
				patch := func(c client.Client) error {
					copied := o.DeepCopy()
					if target.subresource == "" {
						return c.Patch(t.Context(), copied, mergeLabels(way.labels))
					}
					return c.SubResource(target.subresource).Patch(t.Context(), copied, mergeLabels(way.labels))
				}
				if err := patch(e.As(t, editor)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), needsVerb) {
					t.Errorf("without the right: got %v, want a 403 that names the verb", err)
				}
				if err := patch(e.Client); err != nil {
					t.Errorf("a cluster administrator, who holds every right: %v", err)
				}
			})
		}
	}
}

func TestUnprotect_putApplyAndFinalizeNeedTheRight(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor := "editor-" + ns
	everything(t, e, editor)
	c := e.As(t, editor)

	put := configMap(t, e, ns, "put", strict+"=Always")
	put.Labels = nil
	if err := c.Update(t.Context(), put); !apierrors.IsForbidden(err) {
		t.Errorf("PUT without the label: got %v, want a 403", err)
	}

	applied := &unstructured.Unstructured{}
	decodeYAML(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: applied, labels: {holdfast.dev/deletion-protected: Always}}}`, applied)
	applied.SetNamespace(ns)
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied.DeepCopy()), client.FieldOwner("gitops")); err != nil {
		t.Fatal(err)
	}
	applied.SetLabels(nil)
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("gitops")); !apierrors.IsForbidden(err) {
		t.Errorf("apply that drops the label: got %v, want a 403", err)
	}

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	if err := e.Client.Patch(t.Context(), namespace, mergeLabels(map[string]any{strict: "Always"})); err != nil {
		t.Fatal(err)
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // Holdfast marks it meanwhile
		if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
			return err
		}
		delete(namespace.Labels, strict)
		return c.SubResource("finalize").Update(t.Context(), namespace)
	})
	if !apierrors.IsForbidden(err) {
		t.Errorf("PUT of namespaces/finalize: got %v, want a 403", err)
	}
}

func TestUnprotect_theRightIsAskedWhereTheObjectLives(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	mine, other := e.Namespace(t), e.Namespace(t)
	tenant := "tenant-" + mine
	everything(t, e, tenant)
	mayUnprotect(t, e, mine, tenant)
	c := e.As(t, tenant)
	off := mergeLabels(map[string]any{strict: nil})

	if err := c.Patch(t.Context(), configMap(t, e, mine, "x", strict+"=Always"), off); err != nil {
		t.Errorf("in the tenant's own namespace: %v", err)
	}
	if err := c.Patch(t.Context(), configMap(t, e, other, "x", strict+"=Always"), off); !apierrors.IsForbidden(err) {
		t.Errorf("in another namespace: got %v, want a 403", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mine}}
	if err := e.Client.Patch(t.Context(), namespace, mergeLabels(map[string]any{strict: "Always"})); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), namespace.DeepCopy(), off); !apierrors.IsForbidden(err) {
		t.Errorf("the tenant's Namespace itself, which only a cluster-wide right opens: got %v, want a 403", err)
	}
	admin := "admin-" + mine
	everything(t, e, admin)
	mayUnprotect(t, e, "", admin)
	if err := e.As(t, admin).Patch(t.Context(), namespace.DeepCopy(), off); err != nil {
		t.Errorf("with the right cluster-wide: %v", err)
	}
}

func TestUnprotect_upstreamLabelsStayAsOpenAsUpstream(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor := "editor-" + ns
	e.Grant(t, ns, editor, testkit.Rule("", []string{"configmaps"}, "*"))
	c := e.As(t, editor)
	for name, label := range map[string]string{"karmada": karmada, "kruise": kruise} {
		cm := configMap(t, e, ns, name, label+"=Always")
		if err := c.Patch(t.Context(), cm, mergeLabels(map[string]any{label: ""})); err != nil {
			t.Errorf("whoever may edit may empty %s: %v", label, err)
		}
		if err := c.Delete(t.Context(), cm); err != nil {
			t.Errorf("and then delete: %v", err)
		}
	}
}

// A Binding's labels land on its pod, by a CREATE that no UPDATE rule sees.
func TestUnprotect_bindingNeedsTheRight(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor := "scheduler-" + ns
	everything(t, e, editor)
	for _, value := range []string{"", "x"} {
		for _, legacy := range []bool{false, true} {
			name := fmt.Sprintf("p%d-%t", len(value), legacy)
			e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, labels: {holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`)
			binding := &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: map[string]string{strict: value}},
				Target:     corev1.ObjectReference{Kind: "Node", Name: "n1"},
			}
			err := bind(t, e.As(t, editor), binding, legacy)
			if !apierrors.IsForbidden(err) {
				t.Errorf("binding %s with the value %q: got %v, want a 403", name, value, err)
			}
			binding.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
			if err := bind(t, e.As(t, editor), binding, legacy); err != nil {
				t.Errorf("binding %s without the label: %v", name, err)
			}
			pod := &corev1.Pod{}
			if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, pod); err != nil || pod.Labels[strict] != "Always" {
				t.Errorf("pod %s has the labels %v, %v", name, pod.Labels, err)
			}
		}
	}
}

func bind(t testing.TB, c client.Client, b *corev1.Binding, legacy bool) error {
	t.Helper()
	b = b.DeepCopy()
	if legacy {
		return c.Create(t.Context(), b)
	}
	return c.SubResource("binding").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: b.Namespace}}, b)
}

// Without this rule, whoever may edit a protected pod could have the garbage
// collector delete it, by giving it an owner that does not exist.
func TestUnprotect_anOwnerThatDoesNotExist(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor := "editor-" + ns
	everything(t, e, editor)
	c := e.As(t, editor)
	owner := client.RawPatch("application/merge-patch+json", []byte(
		`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"none","uid":"00000000-0000-0000-0000-000000000000","controller":true}]}}`))

	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns}}
	if err := c.Patch(t.Context(), pod.DeepCopy(), owner); !apierrors.IsForbidden(err) {
		t.Errorf("a pod, which the garbage collector may delete: got %v, want a 403", err)
	}
	if err := c.SubResource("status").Patch(t.Context(), pod.DeepCopy(), owner); err == nil {
		var now corev1.Pod
		if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil || len(now.OwnerReferences) > 0 {
			t.Errorf("the pod gained an owner through its status: %v, %v", now.OwnerReferences, err)
		}
	}
	mustStand(t, e, pod)

	// Elsewhere the garbage collector is refused like everybody else, and a controller may have an operator.
	cm := configMap(t, e, ns, "x", strict+"=Always")
	if err := c.Patch(t.Context(), cm.DeepCopy(), owner); !apierrors.IsForbidden(err) {
		t.Errorf("a ConfigMap gains a controller: got %v, want a 403", err)
	}
	text, err := owner.Data(nil)
	if err != nil {
		t.Fatal(err)
	}
	owner = client.RawPatch(owner.Type(), bytes.ReplaceAll(text, []byte(`"controller":true`), []byte(`"controller":false`)))
	if err := c.Patch(t.Context(), cm, owner); err != nil {
		t.Fatalf("a ConfigMap may gain an owner: %v", err)
	}
	// One that is not protected shows when the garbage collector has been there.
	canary := configMap(t, e, ns, "canary")
	if err := c.Patch(t.Context(), canary, owner); err != nil {
		t.Fatal(err)
	}
	mustGo(t, e, canary)
	mustStand(t, e, cm)
	if err := e.Client.Patch(t.Context(), cm, mergeLabels(map[string]any{strict: nil})); err != nil {
		t.Fatal(err)
	}
	mustGo(t, e, cm) // so it was the label that held it
}

func decodeYAML(t testing.TB, text string, into *unstructured.Unstructured) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &into.Object); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	if into.GroupVersionKind() == (schema.GroupVersionKind{}) {
		t.Fatalf("no kind in %s", text)
	}
}
