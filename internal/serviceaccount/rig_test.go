// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// patience is for failures alone.
const (
	patience = 3 * time.Minute
	often    = 50 * time.Millisecond
)

// rig is a cluster in which Holdfast keeps accounts, with a namespace of one test.
type rig struct {
	*testkit.Env
	*gomega.WithT
	t         testing.TB
	namespace string
}

func shared(t testing.TB) *rig {
	t.Helper()
	return rigIn(t, testkit.Shared(t))
}

func rigIn(t testing.TB, e *testkit.Env) *rig {
	t.Helper()
	r := &rig{Env: e, WithT: gomega.NewWithT(t), t: t, namespace: e.Namespace(t)}
	r.label("accounts=kept")
	return r
}

func (r *rig) label(label string) {
	r.t.Helper()
	r.kubectl("label", "namespace", r.namespace, label)
}

func (r *rig) kubectl(args ...string) {
	r.t.Helper()
	if out := r.Kubectl(r.t, args...); out.Code != 0 {
		r.t.Fatalf("kubectl %v: %s", args, out.Stderr)
	}
}

// apply applies objects in the namespace of the test.
func (r *rig) apply(yaml string) {
	r.t.Helper()
	r.Apply(r.t, r.namespace, yaml)
}

// account returns one as it is, nil if it is not there.
func (r *rig) account(name string) *corev1.ServiceAccount {
	r.t.Helper()
	out := &corev1.ServiceAccount{}
	err := r.Client.Get(r.t.Context(), types.NamespacedName{Namespace: r.namespace, Name: name}, out)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// custom is what an account has beside the labels that the operator gives it: labels,
// and annotations with @ before the key; "none" if it is not there.
func (r *rig) custom(name string) string {
	r.t.Helper()
	a := r.account(name)
	if a == nil {
		return "none"
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		if !strings.HasPrefix(key, "strimzi.io/") && !strings.HasPrefix(key, "app.kubernetes.io/") {
			out = append(out, key+"="+a.Labels[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		out = append(out, "@"+key+"="+a.Annotations[key])
	}
	return strings.Join(out, " ")
}

// becomes waits until an account has something, and stays so while others settle.
func (r *rig) becomes(name, want string) *corev1.ServiceAccount {
	r.t.Helper()
	r.Eventually(func() string { return r.custom(name) }).WithTimeout(patience).WithPolling(often).Should(gomega.Equal(want), name)
	return r.account(name)
}

// fence returns after the manager has done what there was to do when it was called: it
// does the same for an object that comes after.
func (r *rig) fence(name string) {
	r.t.Helper()
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: '" + name + "'}\nspec: {}\n")
	r.becomes(name+"-bridge", "")
}

// events are those about an object, of a reason.
func (r *rig) events(kind, name, reason string) []string {
	r.t.Helper()
	list := &eventsv1.EventList{}
	if err := r.Client.List(r.t.Context(), list, client.InNamespace(r.namespace)); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Kind == kind && e.Regarding.Name == name && e.Reason == reason {
			out = append(out, e.Note)
		}
	}
	slices.Sort(out)
	return out
}

// saidOf waits for an event with a text.
func (r *rig) saidOf(kind, name, reason, text string) {
	r.t.Helper()
	r.Eventually(func() []string { return r.events(kind, name, reason) }).WithTimeout(patience).WithPolling(often).
		Should(gomega.ContainElement(gomega.ContainSubstring(text)), reason)
}

// same says what is another in an account than before.
func same(t testing.TB, before, after *corev1.ServiceAccount) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the account has changed (-before +after):\n%s", diff)
	}
}

func (r *rig) update(name string, change func(*corev1.ServiceAccount)) *corev1.ServiceAccount {
	r.t.Helper()
	a := r.account(name)
	change(a)
	if err := r.Client.Update(r.t.Context(), a, client.FieldOwner("somebody")); err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) makeAccount(name string, labels, annotations map[string]string) *corev1.ServiceAccount {
	r.t.Helper()
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name, Labels: labels, Annotations: annotations}}
	if err := r.Client.Create(r.t.Context(), a, client.FieldOwner("somebody")); err != nil {
		r.t.Fatal(err)
	}
	return a
}

func clientKey(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// atEnd has a cluster-scoped object deleted after the test, whose context has ended then.
func (r *rig) atEnd(gvk schema.GroupVersionKind, name string) {
	r.t.Cleanup(func() {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(gvk)
		o.SetName(name)
		if err := r.Client.Delete(context.WithoutCancel(r.t.Context()), o); client.IgnoreNotFound(err) != nil {
			r.t.Error(err)
		}
	})
}
