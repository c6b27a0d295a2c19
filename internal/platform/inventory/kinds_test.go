// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

func kind(group, version, resource, name string, verbs ...string) Kind {
	return Kind{Resource: schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, Kind: name, Namespaced: true, Verbs: verbs}
}

func TestKindsOf(t *testing.T) {
	t.Parallel()
	list := func(groupVersion string, resources ...metav1.APIResource) *metav1.APIResourceList {
		return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources}
	}
	got, err := kindsOf([]*metav1.APIResourceList{
		list("v1",
			metav1.APIResource{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: []string{"get", "delete"}},
			metav1.APIResource{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: []string{"get"}},
			metav1.APIResource{Name: "nodes", Kind: "Node", Verbs: []string{"get"}},
		),
		list("example.com/v2", metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true}),
		list("metrics.k8s.io/v1beta1", metav1.APIResource{Name: "pods", Kind: "PodMetrics", Namespaced: true}),
	}, sets.New(schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}), sets.New("widgets.example.com", "others.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	node, widget, metrics := kind("", "v1", "nodes", "Node", "get"), kind("example.com", "v2", "widgets", "Widget"), kind("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
	node.Namespaced, widget.CRD, metrics.Aggregated = false, true, true
	if diff := cmp.Diff([]Kind{kind("", "v1", "pods", "Pod", "get", "delete"), node, widget, metrics}, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if _, err := kindsOf([]*metav1.APIResourceList{list("a/b/c")}, nil, nil); err == nil {
		t.Error("a group version with two slashes: got no error")
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	k := kind("apps", "v1", "deployments", "Deployment", "get", "list")
	want := []string{"deployments.apps", "Deployment.apps", "apps/v1, Kind=Deployment", "deployments.apps"}
	if diff := cmp.Diff(want, []string{k.GroupResource().String(), k.GroupKind().String(), k.GroupVersionKind().String(), k.CRDName()}); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if !k.Can() || !k.Can("get", "list") || k.Can("get", "delete") {
		t.Errorf("it can %v", k.Verbs)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	pods, deployments := kind("", "v1", "pods", "Pod"), kind("apps", "v1", "deployments", "Deployment")
	second := kind("apps", "v1", "zdeployments", "Deployment")
	s := NewSnapshot([]Kind{second, pods, deployments})
	if diff := cmp.Diff([]Kind{deployments, pods, second}, s.All()); diff != "" {
		t.Errorf("in the order of their names (-want +got):\n%s", diff)
	}
	if got, ok := s.ByResource(schema.GroupResource{Group: "apps", Resource: "zdeployments"}); !ok || got.Kind != "Deployment" {
		t.Errorf("by resource: got %v, %t", got, ok)
	}
	if got, ok := s.ByKind(schema.GroupKind{Group: "apps", Kind: "Deployment"}); !ok || got.Resource != deployments.Resource {
		t.Errorf("of two resources of a kind the first counts: got %v, %t", got, ok)
	}
	for _, missing := range []schema.GroupKind{{Kind: "Deployment"}, {Group: "apps", Kind: "Pod"}} {
		if got, ok := s.ByKind(missing); ok {
			t.Errorf("%s: got %v", missing, got)
		}
	}
	if _, ok := s.ByResource(schema.GroupResource{Resource: "deployments"}); ok {
		t.Error("a resource of another group was found")
	}
}

func TestSnapshot_equal(t *testing.T) {
	t.Parallel()
	fresh := func() Kind { return kind("apps", "v1", "deployments", "Deployment", "get") }
	pods := kind("", "v1", "pods", "Pod")
	base := NewSnapshot([]Kind{fresh(), pods})
	if !NewSnapshot([]Kind{pods, fresh()}).equal(base) {
		t.Error("another order is no change")
	}
	if base.equal(nil) || base.equal(NewSnapshot([]Kind{fresh()})) {
		t.Error("what is not there any more is a change")
	}
	for name, change := range map[string]func(*Kind){
		"another preferred version": func(k *Kind) { k.Resource.Version = "v2" },
		"another name of the kind":  func(k *Kind) { k.Kind = "Other" },
		"another scope":             func(k *Kind) { k.Namespaced = false },
		"another server":            func(k *Kind) { k.Aggregated = true },
		"a definition":              func(k *Kind) { k.CRD = true },
		"not served any more":       func(k *Kind) { k.Unserved = true },
		"another verb":              func(k *Kind) { k.Verbs = []string{"get", "delete"} },
	} {
		k := fresh()
		change(&k)
		if NewSnapshot([]Kind{k, pods}).equal(base) {
			t.Errorf("%s is not seen", name)
		}
	}
}

// A group that does not answer has not lost its objects.
func TestKept(t *testing.T) {
	t.Parallel()
	metrics := schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1"}
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{metrics: errors.New("no answer")}}
	pods, usage, other := kind("", "v1", "pods", "Pod"), kind("metrics.k8s.io", "v1", "pods", "PodMetrics"), kind("metrics.k8s.io", "v2", "nodes", "NodeMetrics")
	k := &Kinds{}
	if got := k.kept(failed, nil, nil); got != nil {
		t.Errorf("before anything is known: got %v", got)
	}
	k.current.Store(NewSnapshot([]Kind{pods, usage, other}))
	if diff := cmp.Diff([]Kind{usage}, k.kept(failed, nil, []Kind{pods})); diff != "" {
		t.Errorf("what did not answer (-want +got):\n%s", diff)
	}
	if got := k.kept(failed, nil, []Kind{usage}); got != nil {
		t.Errorf("what another version shows is not kept twice: got %v", got)
	}
	defined := kind("example.org", "v1", "gadgets", "Gadget")
	defined.CRD = true
	k.current.Store(NewSnapshot([]Kind{pods, defined}))
	unserved := defined
	unserved.Unserved = true
	if diff := cmp.Diff([]Kind{unserved}, k.kept(nil, sets.New(defined.CRDName()), []Kind{pods})); diff != "" {
		t.Errorf("what is defined and not served any more (-want +got):\n%s", diff)
	}
	if got := k.kept(nil, nil, []Kind{pods}); got != nil {
		t.Errorf("what is not defined any more: got %v", got)
	}
}

func TestSilent(t *testing.T) {
	t.Parallel()
	defined := kind("example.org", "v1", "gadgets", "Gadget")
	defined.CRD = true
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "metrics.k8s.io", Version: "v1"}: errors.New("no answer")}}
	for _, tt := range []struct {
		name   string
		crds   sets.Set[string]
		failed *discovery.ErrGroupDiscoveryFailed
		want   []string
	}{
		{name: "every definition is served", crds: sets.New(defined.CRDName())},
		{name: "one is not yet", crds: sets.New(defined.CRDName(), "widgets.shop.example.org"), want: []string{"shop.example.org"}},
		{name: "a group does not answer, and is asked again", crds: sets.New(defined.CRDName()), failed: failed, want: []string{"metrics.k8s.io"}},
	} {
		s := NewSnapshot([]Kind{kind("", "v1", "pods", "Pod"), defined})
		s.silent = silent(s, tt.crds, tt.failed)
		if got := sets.List(s.silent); len(got)+len(tt.want) > 0 && !cmp.Equal(tt.want, got) {
			t.Errorf("%s: silent: got %v, want %v", tt.name, got, tt.want)
		}
		if s.Silent("") || s.Silent("example.org") {
			t.Errorf("%s: a group that is shown is silent", tt.name)
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	deleted := metav1.NewTime(time.Unix(1, 0))
	full := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "shop", UID: "u", ResourceVersion: "7", Generation: 3, GenerateName: "a-",
			Labels:            map[string]string{"app": "web", "holdfast.dev/protected-by": "one"},
			OwnerReferences:   []metav1.OwnerReference{{Name: "o"}},
			DeletionTimestamp: &deleted, Finalizers: []string{"f"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
			Annotations: map[string]string{
				"holdfast.dev/protected-by": "one (ask Ann)", "holdfast.dev/delete-unchecked": "a",
				"kubectl.kubernetes.io/last-applied-configuration": "large", "xholdfast.dev/a": "b", "holdfast.dev.example.com/a": "b",
			},
		},
	}
	before := full.DeepCopy()
	want := &metav1.PartialObjectMetadata{
		TypeMeta: full.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "shop", UID: "u", ResourceVersion: "7", Generation: 3,
			Labels: full.Labels, OwnerReferences: full.OwnerReferences, DeletionTimestamp: &deleted,
			Annotations: map[string]string{"holdfast.dev/protected-by": "one (ask Ann)", "holdfast.dev/delete-unchecked": "a"},
		},
	}
	for _, once := range []*metav1.PartialObjectMetadata{full, Strip(full)} {
		if diff := cmp.Diff(want, Strip(once)); diff != "" {
			t.Errorf("what is kept (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(before, full); diff != "" {
		t.Errorf("the object itself was changed:\n%s", diff)
	}
	if got, err := strip("a tombstone"); err != nil || got != "a tombstone" {
		t.Errorf("what is no object: got %v, %v", got, err)
	}
}
