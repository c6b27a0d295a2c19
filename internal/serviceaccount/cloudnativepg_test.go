// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// TestCloudNativePG has the ready-made template keep the account that the operator of
// CloudNativePG has made: what the Cluster says of it reaches it, what the operator has
// set stays, and it goes with the Cluster.
func TestCloudNativePG(t *testing.T) {
	t.Parallel()
	r := shared(t)
	shipped, err := os.ReadFile("../../config/serviceaccounts/cloudnativepg.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r.apply(string(shipped))
	r.atEnd(v1alpha1.GroupVersion.WithKind("ServiceAccountTemplate"), "cloudnativepg")
	cluster := func(name, metadata string) *unstructured.Unstructured {
		r.apply("apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: " + name + "}\nspec: {instances: 3, serviceAccountTemplate: {metadata: " + metadata + "}}\n")
		out := &unstructured.Unstructured{}
		out.SetGroupVersionKind(schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"})
		if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	owner := func(o *unstructured.Unstructured) []metav1.OwnerReference {
		return []metav1.OwnerReference{{
			APIVersion: "postgresql.cnpg.io/v1", Kind: "Cluster", Name: o.GetName(), UID: o.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	}

	// Whoever makes the account first, it is the Cluster's, as the operator has it.
	first := cluster("first", "{}")
	if got := r.becomes("first", ""); !cmp.Equal(got.OwnerReferences, owner(first)) {
		t.Errorf("owners: %v", got.OwnerReferences)
	}

	out := r.Kubectl(t, "label", "namespace", r.namespace, "accounts-")
	if out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	pg := cluster("pg", "{labels: {team: shop}, annotations: {"+role+": arn:one}}")
	made := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: "pg", OwnerReferences: owner(pg), Labels: map[string]string{"cnpg.io/cluster": "pg"},
			Annotations: map[string]string{"cnpg.io/managedSecrets": `["pull"]`},
		},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
	}
	if err := r.Client.Create(t.Context(), made, client.FieldOwner("manager")); err != nil {
		t.Fatal(err)
	}
	r.label("accounts=kept")
	const operators = "cnpg.io/cluster=pg"
	r.becomes("pg", operators+" team=shop @cnpg.io/managedSecrets=[\"pull\"] @"+role+"=arn:one")
	r.kubectl("annotate", "serviceaccount", "pg", "-n", r.namespace, role+"-")
	r.becomes("pg", operators+" team=shop @cnpg.io/managedSecrets=[\"pull\"] @"+role+"=arn:one")
	cluster("pg", "{annotations: {"+role+": arn:two}}")
	now := r.becomes("pg", operators+" @cnpg.io/managedSecrets=[\"pull\"] @"+role+"=arn:two")
	if now.UID != made.UID || len(now.ImagePullSecrets) != 1 || !cmp.Equal(now.OwnerReferences, owner(pg)) {
		t.Errorf("the account lost something: %+v", now)
	}
	r.says("cloudnativepg", "InForce 2/2/0/0/0")
	r.kubectl("delete", "clusters.postgresql.cnpg.io", "pg", "-n", r.namespace)
	r.becomes("pg", "none")
}
