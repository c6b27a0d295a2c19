// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// situation is how a user protects custom resources.
type situation struct {
	name string
	// A user labels the custom resources before the operator sees them; a ResourceDeletionProtection selects them; it selects
	// what the operator makes of them as well.
	labelled, selected, children bool
}

var situations = []situation{
	{name: "nothing is protected"},
	{name: "a user labels the custom resources", labelled: true},
	{name: "a ResourceDeletionProtection selects the custom resources", selected: true},
	{name: "a ResourceDeletionProtection selects the custom resources and what the operator makes of them", selected: true, children: true},
}

// An operator creates what it makes of its custom resources, reconciles without a change, rolls the pods, and reconciles
// again. Holdfast refuses none of its requests, and comes to rest. People and pipelines cannot delete what is protected.
func TestOperators_reconcileWhatIsProtected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		program program
	}{
		{"Strimzi with JSON patches", strimzi{}},
		{"Strimzi with server-side apply", strimzi{serverSide: true}},
		{"Strimzi that excludes the labels of Holdfast", strimzi{exclusion: `^holdfast\.dev/.*`}},
		{"CloudNativePG", cloudNativePG{}},
		{"CloudNativePG that copies the labels of Holdfast", cloudNativePG{inherited: "holdfast.dev/*"}},
	} {
		for _, s := range situations {
			t.Run(tt.name+", "+s.name, func(t *testing.T) {
				t.Parallel()
				if tt.program != (strimzi{}) || !s.labelled {
					testkit.Long(t)
				}
				r := newRig(t, tt.program, s)
				r.reconcile("creates everything")
				r.settle(true)
				r.rolled(r.rollsForMarks(), func() { r.reconcile("reconciles without a change") })
				r.settle(true)
				r.upgrade()
				r.rolled(true, func() { r.reconcile("rolls the pods") })
				// Holdfast now removes the marks that the operator copied to the new pods, which the operator sees.
				r.settle(true)
				r.reconcile("reconciles what Holdfast has changed")
				r.settle(true)

				versions, wrote := r.versions(), r.holdfast()
				r.reconcile("reconciles once more")
				r.sentinel()
				if diff := cmp.Diff(versions, r.versions()); diff != "" {
					t.Errorf("a reconciliation without a change changed (-before +after):\n%s", diff)
				}
				for _, w := range r.holdfast()[len(wrote):] {
					if !strings.Contains(w, "/sentinel-") {
						t.Errorf("Holdfast wrote without a change: %s", w)
					}
				}
				r.keeps(r.protected())
			})
		}
	}
}

// protect applies the custom resources, and protects them.
func (r *rig) protect() {
	r.t.Helper()
	for _, text := range r.program.customResources() {
		o := r.object(text)
		if r.situation.labelled {
			label(o, map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways})
		}
		if err := r.Client.Create(r.t.Context(), o); err != nil {
			r.t.Fatal(err)
		}
	}
	if !r.situation.selected {
		return
	}
	var selectors []string
	for _, o := range r.owners() {
		selectors = append(selectors, fmt.Sprintf("{apiVersion: %s, kind: %s, namespace: %s}", o.APIVersion, o.Kind, r.namespace))
	}
	if key, value := r.program.selector(); r.situation.children {
		for _, k := range kinds {
			selectors = append(selectors, fmt.Sprintf("{apiVersion: %s, kind: %s, namespace: %s, labelSelector: {matchLabels: {%s: %s}}}",
				k.GroupVersion(), k.Kind, r.namespace, key, value))
		}
	}
	r.Apply(r.t, "", fmt.Sprintf("{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: %s}, spec: {protectedResources: [{resourceSelector: [%s]}]}}",
		r.namespace, strings.Join(selectors, ", ")))
}

// selected are the kinds that the ResourceDeletionProtection selects.
func (r *rig) selected() (out []string) {
	for _, o := range r.owners() {
		if r.situation.selected {
			out = append(out, o.Kind)
		}
	}
	for _, k := range kinds {
		if r.situation.children {
			out = append(out, k.Kind)
		}
	}
	return out
}

// protected are the kinds that people and pipelines cannot delete.
func (r *rig) protected() []string {
	out := r.selected()
	if r.situation.labelled {
		for _, o := range r.owners() {
			out = append(out, o.Kind)
		}
		if r.program.copies() {
			out = append(out, "PersistentVolumeClaim", "Pod")
		}
	}
	return out
}

// reconcile has the operator reconcile. Without Holdfast it gets no error, so with Holdfast it must get none.
func (r *rig) reconcile(what string) {
	r.t.Helper()
	r.program.reconcile(r)
	all := r.sent.take()
	if diff := cmp.Diff([]string{}, refused(all)); diff != "" {
		r.t.Errorf("the operator %s (-want +got):\n%s", what, diff)
	}
	for _, s := range all {
		r.t.Logf("the operator %s: %v", what, s)
	}
}

// rollsForMarks reports whether the pods are rolled without a change of the custom resources. Strimzi copies the labels of a
// KafkaNodePool to its pods and rolls pods whose labels have changed. Holdfast marks the KafkaNodePool when something
// protected has it as an owner, which is after the operator has made that.
func (r *rig) rollsForMarks() bool {
	_, isStrimzi := r.program.(strimzi)
	return isStrimzi && r.program.copies() && (r.situation.labelled || r.situation.children)
}

// rolled compares the pods before and after.
func (r *rig) rolled(want bool, act func()) {
	r.t.Helper()
	before := r.pods()
	act()
	after := r.pods()
	if len(before) != 2 || len(after) != 2 {
		r.t.Errorf("there were the pods %v and are %v, want two", before, after)
	}
	for name, uid := range after {
		if got := before[name] != uid; got != want {
			r.t.Errorf("pod %s was rolled: %t, want %t", name, got, want)
		}
	}
}

// upgrade changes the version of the first custom resource as a user.
func (r *rig) upgrade() {
	r.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(r.program.upgrade()))
	if err := r.Client.Patch(r.t.Context(), r.object(r.program.customResources()[0]), patch); err != nil {
		r.t.Fatal(err)
	}
}

// keeps sees that an administrator, a person with rights in the namespace and a pipeline with all rights cannot delete the
// custom resources, pods and claims of some kinds, and can delete the others.
func (r *rig) keeps(protected []string) {
	r.t.Helper()
	person, pipeline := "person-"+r.namespace, accounts+r.namespace+":pipeline"
	r.Grant(r.t, r.namespace, person, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"delete"}})
	r.Grant(r.t, "", pipeline, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	users := map[string]client.Client{"an administrator": r.Client, "a person": r.As(r.t, person), "a pipeline": r.As(r.t, pipeline)}
	for _, o := range append(r.owners(), r.made(kinds[:2]...)...) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.GroupVersionKind())
		u.SetNamespace(o.Namespace)
		u.SetName(o.Name)
		want := slices.Contains(protected, o.Kind)
		for name, as := range users {
			// What a custom resource owns would keep it as well; orphaning shows its own protection.
			err := as.Delete(r.t.Context(), u.DeepCopy(), client.DryRunAll, client.PropagationPolicy("Orphan"))
			got := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'holdfast-deletion-")
			if got != want || err != nil && !got {
				r.t.Errorf("%s deletes %s: %v; want it refused: %t", name, nameOf(o), err, want)
			}
		}
	}
}
