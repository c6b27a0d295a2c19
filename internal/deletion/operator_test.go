// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// operated is a namespace with custom resources, which control other objects.
type operated struct {
	*testkit.Env
	namespace, group string
	owners           map[string]*unstructured.Unstructured
}

// plurals of the kinds of custom resources. All but that of Index are regular.
var plurals = map[string]string{"Broker": "brokers", "Proxy": "proxies", "Gateway": "gateways", "Search": "searches", "CloneSet": "clonesets", "Index": "indices"}

func newOperated(t *testing.T, e *testkit.Env, kinds ...string) *operated {
	t.Helper()
	o := &operated{Env: e, owners: map[string]*unstructured.Unstructured{}}
	o.namespace = o.Namespace(t)
	o.group = o.namespace + ".example"
	for _, kind := range kinds {
		o.Apply(t, "", fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.%[2]s}, spec: {group: %[2]s, scope: Namespaced,
			names: {plural: %[1]s, kind: %[3]s}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`,
			plurals[kind], o.group, kind))
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: o.group, Version: "v1", Kind: kind})
		u.SetNamespace(o.namespace)
		u.SetName("main")
		gomega.NewWithT(t).Eventually(func() error { return client.IgnoreAlreadyExists(o.Client.Create(t.Context(), u.DeepCopy())) }, "180s", "50ms").Should(gomega.Succeed())
		if err := o.Client.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			t.Fatal(err)
		}
		o.owners[kind] = u
	}
	return o
}

// make creates a protected object, with an owner where one is given.
func (o *operated) make(t *testing.T, name, body, owner string, controller bool) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	decodeYAML(t, body, u)
	u.SetNamespace(o.namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways})
	if owner != "" {
		by := o.owners[owner]
		u.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: by.GetAPIVersion(), Kind: by.GetKind(), Name: by.GetName(), UID: by.GetUID(), Controller: new(controller),
		}})
	}
	if err := o.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// runs grants a user what an operator of some kinds has.
func (o *operated) runs(t *testing.T, namespace, user string, plurals ...string) {
	t.Helper()
	rules := []rbacv1.PolicyRule{
		testkit.Rule("", []string{"pods", "configmaps", "secrets", "persistentvolumeclaims"}, "delete", "patch", "get"),
		testkit.Rule("apps", []string{"deployments", "statefulsets"}, "delete"),
		testkit.Rule("batch", []string{"jobs"}, "delete"),
	}
	made := len(rules)
	for _, p := range plurals {
		rules = append(rules, testkit.Rule(o.group, []string{p + "/status"}, "update"), testkit.Rule(o.group, []string{p}, "delete", "update", "get"))
	}
	o.Grant(t, "", user, rules[:made]...)
	o.Grant(t, namespace, user, rules[made:]...)
}

const (
	aJob       = `{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`
	workload   = `{apiVersion: apps/v1, kind: %s, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	aPod       = `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}`
	aConfigMap = `{apiVersion: v1, kind: ConfigMap}`
	aSecret    = `{apiVersion: v1, kind: Secret}`
	aClaim     = `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
)

func TestOperator_replacesWhatItMade(t *testing.T) {
	t.Parallel()
	o := newOperated(t, testkit.Shared(t), slices.Collect(maps.Keys(plurals))...)
	account := func(name string) string { return "system:serviceaccount:" + o.namespace + ":" + name }
	elsewhere := o.Namespace(t)
	operator, other, person := account("operator"), account("other"), "person-"+o.namespace
	everything, here, noStatus, indices := account("everything"), account("everything-here"), account("no-status"), account("indices")
	wholeGroup := account("whole-group")
	o.runs(t, o.namespace, operator, "brokers", "proxies", "gateways", "searches")
	o.runs(t, elsewhere, other, "brokers", "proxies")
	o.runs(t, o.namespace, person, "brokers", "proxies")
	o.runs(t, o.namespace, noStatus)
	o.Grant(t, o.namespace, noStatus, testkit.Rule(o.group, []string{"brokers"}, "*"))
	o.runs(t, o.namespace, wholeGroup)
	o.Grant(t, o.namespace, wholeGroup, testkit.Rule(o.group, []string{"*"}, "*"))
	o.runs(t, o.namespace, indices, "indices")
	o.Grant(t, "", everything, testkit.Rule("*", []string{"*"}, "*"))
	o.Grant(t, o.namespace, here, testkit.Rule("*", []string{"*"}, "*"))

	pod := o.make(t, "pod", aPod, "Broker", true)
	owned := o.make(t, "owned", aPod, "Broker", false)
	alone := o.make(t, "alone", aPod, "", false)
	proxy, gateway, search := o.make(t, "proxy", aPod, "Proxy", true), o.make(t, "gateway", aPod, "Gateway", true), o.make(t, "search", aPod, "Search", true)
	index := o.make(t, "index", aPod, "Index", true)
	config := o.make(t, "config", aConfigMap, "Broker", true)
	claim := o.make(t, "claim", aClaim, "Broker", true)
	secret := o.make(t, "secret", aSecret, "Broker", true)
	job := o.make(t, "job", aJob, "Broker", true)
	deployment, set := o.make(t, "deployment", fmt.Sprintf(workload, "Deployment"), "Broker", true), o.make(t, "set", fmt.Sprintf(workload, "StatefulSet"), "Broker", true)
	// A pod of a CloneSet whose template has OpenKruise's label, and kruise-manager.
	kruised := o.make(t, "kruised", aPod, "CloneSet", true)
	if err := o.Client.Patch(t.Context(), kruised, mergeLabels(map[string]any{kruise: "Always", strict: nil})); err != nil {
		t.Fatal(err)
	}
	kruiseManager := account("kruise-manager")
	o.runs(t, o.namespace, kruiseManager, "clonesets")
	custom := o.make(t, "custom", fmt.Sprintf("{apiVersion: %s/v1, kind: Proxy}", o.group), "Broker", true)

	for _, tt := range []struct {
		name    string
		user    string
		object  *unstructured.Unstructured
		refused bool
	}{
		{"the operator deletes its pod", operator, pod, false},
		{"the operator deletes its pod of a kind that ends with y", operator, proxy, false},
		{"the operator deletes its pod of a kind that ends with a vowel and y", operator, gateway, false},
		{"the operator deletes its pod of a kind that ends with ch", operator, search, false},
		{"the operator deletes its ConfigMap", operator, config, false},
		{"the operator deletes its Job", operator, job, false},
		{"the operator deletes its Deployment", operator, deployment, false},
		{"the operator deletes its StatefulSet", operator, set, false},
		{"OpenKruise deletes a pod of its workload", kruiseManager, kruised, false},
		{"another operator may not", operator, kruised, true},
		{"a person may not delete a pod of OpenKruise's workload", person, kruised, true},
		{"the operator may not delete a custom resource", operator, custom, true},
		{"the operator may not delete data", operator, claim, true},
		{"the operator may not delete a Secret", operator, secret, true},
		{"the operator may not delete a pod that its kind owns and does not control", operator, owned, true},
		{"the operator may not delete a pod without a controller", operator, alone, true},
		{"the operator may not delete a pod of another operator", operator, index, true},
		{"the operator of a kind with an irregular plural is not recognized", indices, index, true},
		{"a person with the same rights may not", person, pod, true},
		{"a service account that is allowed everything may not", everything, pod, true},
		{"a service account that is allowed everything in the namespace may not", here, pod, true},
		{"a service account that may change the custom resource and not its status may not", noStatus, pod, true},
		{"a service account that may change all resources of the group counts as the operator", wholeGroup, pod, false},
		{"the operator of another namespace may not", other, pod, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			verdict := func() error { return o.As(t, tt.user).Delete(t.Context(), tt.object.DeepCopy(), client.DryRunAll) }
			if !tt.refused {
				gomega.NewWithT(t).Eventually(verdict, "180s", "50ms").Should(gomega.Succeed())
				return
			}
			gomega.NewWithT(t).Eventually(verdict, "180s", "50ms").Should(gomega.MatchError(gomega.ContainSubstring("is protected from deletion")))
			if err := verdict(); !apierrors.IsForbidden(err) {
				t.Errorf("got %v, want a 403", err)
			}
		})
	}

	// A user takes the label off the custom resource, and the operator off what it made.
	unlabel := func(u *unstructured.Unstructured) error {
		return o.As(t, operator).Patch(t.Context(), u.DeepCopy(), mergeLabels(map[string]any{v1alpha1.DeletionProtectedLabel: nil}), client.DryRunAll)
	}
	for _, u := range []*unstructured.Unstructured{pod, config, secret} {
		if err := unlabel(u); err != nil {
			t.Errorf("take the label off %s: %v", u.GetName(), err)
		}
	}
	for _, u := range []*unstructured.Unstructured{claim, alone} {
		if err := unlabel(u); !apierrors.IsForbidden(err) {
			t.Errorf("take the label off %s: got %v, want a 403", u.GetName(), err)
		}
	}
}

// A ResourceDeletionProtection selects the pod; Holdfast marks the pod's owner as holding something protected.
func TestOperator_replacesWhatAProtectionSelects(t *testing.T) {
	t.Parallel()
	o := newOperated(t, testkit.Shared(t), "Broker")
	operator := "system:serviceaccount:" + o.namespace + ":operator"
	o.runs(t, o.namespace, operator, "brokers")
	pod := o.make(t, "pod", aPod, "Broker", true)
	if err := o.Client.Patch(t.Context(), pod, mergeLabels(map[string]any{v1alpha1.DeletionProtectedLabel: nil})); err != nil {
		t.Fatal(err)
	}
	protectOne(t, o.Env, o.namespace, "v1", "Pod", "pod")
	gomega.NewWithT(t).Eventually(func() error { return o.As(t, operator).Delete(t.Context(), pod.DeepCopy(), client.DryRunAll) }, "180s", "50ms").Should(gomega.Succeed())
	if err := o.Client.Delete(t.Context(), pod.DeepCopy(), client.DryRunAll); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "protected") {
		t.Errorf("got %v, want a 403", err)
	}
}
