// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// Whether an object went by itself or with its CRD is asked for. While there is no
// answer nothing is changed, and nobody waits; in the end everything is taken in, in
// its order.
func TestTake_whileNobodyAnswersForACRD(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := true
	api := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	api.PrependReactor("get", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
		if broken {
			return true, nil, errors.New("out of order")
		}
		crd := &unstructured.Unstructured{}
		crd.SetUID(types.UID(configCRD.Name))
		return true, crd, nil
	})
	r.o.Dynamic = api
	r.tell("ns a\nns b\nparent b=a")
	parent := func() string {
		v, err := r.View()
		if err != nil {
			t.Fatal(err)
		}
		return v.Tree.Get("b").Parent
	}
	h := &session{world: r.World, ctx: t.Context()}
	hc := &hncv1alpha2.HierarchyConfiguration{}
	hc.Namespace, hc.Name = "b", hncv1alpha2.HierarchyConfigurationName
	h.Gone(configs, hc, false)
	take := func(want bool) {
		t.Helper()
		promptly(t, "the World", func() {
			if r.take(t.Context()) != want {
				t.Errorf("it is taken in: %t", !want)
			}
		})
	}
	take(false)
	if parent() != "a" || r.Blind() == "" {
		t.Errorf("the parent is %q, and it is said: %q", parent(), r.Blind())
	}
	again := hc.DeepCopy()
	again.Spec.Parent = "c"
	h.Seen(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
	h.Seen(configs, again)
	take(false)
	if parent() != "a" {
		t.Errorf("the parent is %q", parent())
	}

	broken = false
	take(true)
	if parent() != "c" || r.Blind() != "" {
		t.Errorf("the parent is %q, and it is said: %q", parent(), r.Blind())
	}
}
