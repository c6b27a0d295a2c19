// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The labels of a Kafka and of its KafkaNodePools reach different objects (KafkaCluster and KafkaPool), so a user labels both.
func TestOperators_whichLabelsStrimziCopiesWhere(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	for _, tt := range []struct {
		name     string
		resource int
		want     []string
	}{
		{"the label of a Kafka", 0, []string{"NetworkPolicy", "PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"}},
		{"the label of a KafkaNodePool", 1, []string{"ConfigMap", "PersistentVolumeClaim", "Pod", "StrimziPodSet"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, strimzi{}, situation{})
			on := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":"Always"}}}`))
			if err := r.Client.Patch(t.Context(), r.object(r.program.customResources()[tt.resource]), on); err != nil {
				t.Fatal(err)
			}
			r.reconcile("creates everything")
			var got []string
			for _, o := range r.made(slices.Concat(kinds, unmarked)...) {
				if o.Labels[v1alpha1.DeletionProtectedLabel] != "" {
					got = append(got, o.Kind)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, slices.Compact(got)); diff != "" {
				t.Errorf("labelled kinds (-want +got):\n%s", diff)
			}
		})
	}
}

// An operator deletes what a user who changes the custom resource no longer wants. Where it has copied the user's label, it
// can delete only objects without data of which the custom resource is the controller; Strimzi makes it the controller of pods
// alone.
func TestOperators_deleteWhatIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	postgres := cloudNativePG{inherited: "holdfast.dev/*"}
	for _, tt := range []struct {
		name    string
		program program
		object  string
		// propagation is what the operator asks for, "" for nothing.
		propagation metav1.DeletionPropagation
		want        int
	}{
		{"Strimzi deletes the pod of a node that is scaled down", strimzi{}, `{apiVersion: v1, kind: Pod, metadata: {name: my-cluster-pool-1}}`, metav1.DeletePropagationBackground, http.StatusOK},
		{"Strimzi is refused the ConfigMap of a node that is scaled down", strimzi{}, `{apiVersion: v1, kind: ConfigMap, metadata: {name: my-cluster-pool-1}}`, metav1.DeletePropagationForeground, http.StatusForbidden},
		{"Strimzi is refused the claim of a node that is scaled down, with deleteClaim", strimzi{}, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-my-cluster-pool-1}}`, metav1.DeletePropagationForeground, http.StatusForbidden},
		{"Strimzi is refused the Service of a listener that is removed", strimzi{}, `{apiVersion: v1, kind: Service, metadata: {name: my-cluster-kafka-bootstrap}}`, metav1.DeletePropagationForeground, http.StatusForbidden},
		{"Strimzi is refused the ServiceAccount of an entity operator that is removed", strimzi{}, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: my-cluster-entity-operator}}`, metav1.DeletePropagationForeground, http.StatusForbidden},
		{"Strimzi deletes the Service of a listener whose label it has not copied", strimzi{exclusion: `^holdfast\.dev/.*`}, `{apiVersion: v1, kind: Service, metadata: {name: my-cluster-kafka-bootstrap}}`, metav1.DeletePropagationForeground, http.StatusOK},
		{"CloudNativePG deletes the pod of an instance that is scaled down", postgres, `{apiVersion: v1, kind: Pod, metadata: {name: db-2}}`, "", http.StatusOK},
		{"CloudNativePG is refused the claim of an instance that is scaled down", postgres, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: db-2}}`, "", http.StatusForbidden},
		{"CloudNativePG deletes a Service that is disabled", postgres, `{apiVersion: v1, kind: Service, metadata: {name: db-r}}`, "", http.StatusOK},
		{"CloudNativePG deletes a PodDisruptionBudget that is disabled", postgres, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db}}`, "", http.StatusOK},
		{"CloudNativePG is refused the Secret of a superuser who is disabled", postgres, `{apiVersion: v1, kind: Secret, metadata: {name: db-superuser}}`, "", http.StatusForbidden},
		{"CloudNativePG deletes the claim of an instance whose label it has not copied", cloudNativePG{}, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: db-2}}`, "", http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.program, situation{labelled: true})
			r.reconcile("creates everything")
			r.settle(true)
			var opts []client.DeleteOption
			if tt.propagation != "" {
				opts = append(opts, client.PropagationPolicy(tt.propagation))
			}
			_ = r.operator.Delete(t.Context(), r.object(tt.object), opts...)
			if all := r.sent.take(); len(all) != 1 || all[0].code != tt.want {
				t.Errorf("the operator sent %v, want one request with the answer %d", all, tt.want)
			}
		})
	}
}

// A user takes the label off the custom resources. CloudNativePG never removes a label that it copied. Strimzi removes it with
// its next requests, which are refused until an administrator has removed it from what the custom resources own.
func TestOperators_aUserTakesTheLabelOff(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	const labelled = "configmaps,networkpolicies,persistentvolumeclaims,poddisruptionbudgets,pods,rolebindings,roles,secrets,serviceaccounts,services,strimzipodsets"
	for _, tt := range []struct {
		name    string
		program program
		refused []string
	}{
		{"Strimzi with JSON patches is refused to remove it", strimzi{}, slices.DeleteFunc(strings.Split(labelled, ","), func(s string) bool { return s == "pods" })},
		{"Strimzi with server-side apply is refused to remove it", strimzi{serverSide: true}, slices.DeleteFunc(strings.Split(labelled, ","), func(s string) bool { return s == "pods" })},
		{"Strimzi that excludes the labels of Holdfast has nothing to remove", strimzi{exclusion: `^holdfast\.dev/.*`}, nil},
		{"CloudNativePG leaves it", cloudNativePG{inherited: "holdfast.dev/*"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.program, situation{labelled: true})
			r.reconcile("creates everything")
			r.settle(true)
			r.reconcile("copies the marks of the owners")
			off := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":null}}}`))
			for _, text := range tt.program.customResources() {
				if err := r.Client.Patch(t.Context(), r.object(text), off); err != nil {
					t.Fatal(err)
				}
			}
			r.program.reconcile(r)
			var got []string
			for _, s := range r.sent.take() {
				if kind, _, _ := strings.Cut(s.object, "/"); s.code == http.StatusForbidden {
					got = append(got, kind)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.refused, slices.Compact(got)); diff != "" {
				t.Errorf("kinds of which the operator was refused to remove the label (-want +got):\n%s", diff)
			}

			key, value := tt.program.selector()
			if out := r.Kubectl(t, "label", labelled, "-l", key+"="+value, "-n", r.namespace, v1alpha1.DeletionProtectedLabel+"-"); out.Code != 0 {
				t.Fatal(out.Stderr)
			}
			r.reconcile("reconciles when an administrator has removed the label")
			for _, o := range r.made(kinds...) {
				if v, ok := o.Labels[v1alpha1.DeletionProtectedLabel]; ok {
					t.Errorf("%s has the label again: %s", nameOf(o), v)
				}
			}
		})
	}
}
