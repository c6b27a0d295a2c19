// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

var configMaps = schema.GroupKind{Kind: "ConfigMap"}

// object reads "namespace/name k=v …"; a cluster-scoped one has nothing before
// the slash.
func object(text string) *metav1.PartialObjectMetadata {
	words := strings.Fields(text)
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name, _ = strings.Cut(words[0], "/")
	o.Labels = set(words[1:]...)
	return o
}

func set(pairs ...string) labels.Set {
	out := labels.Set{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		out[k] = v
	}
	return out
}

// matching selects by labels that are all there.
func matching(pairs ...string) *v1alpha1.ObjectSelector {
	s := &v1alpha1.ObjectSelector{MatchLabels: map[string]v1alpha1.LabelValue{}}
	for k, v := range set(pairs...) {
		s.MatchLabels[k] = v1alpha1.LabelValue(v)
	}
	return s
}

func expression(key string, op metav1.LabelSelectorOperator, values ...v1alpha1.LabelValue) *v1alpha1.ObjectSelector {
	return &v1alpha1.ObjectSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: key, Operator: op, Values: values}}}
}

// protection makes one that selects ConfigMaps.
func protection(t testing.TB, name string, resources ...v1alpha1.ProtectedResource) *Protection {
	t.Helper()
	in := &v1alpha1.ResourceDeletionProtection{Spec: v1alpha1.ResourceDeletionProtectionSpec{ProtectedResources: resources}}
	in.Name = name
	for i := range resources {
		for j := range resources[i].ResourceSelector {
			s := &resources[i].ResourceSelector[j]
			if s.Kind == "" {
				s.APIVersion, s.Kind = "v1", "ConfigMap"
			}
		}
	}
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func resource(s v1alpha1.ResourceSelector, names ...string) v1alpha1.ProtectedResource {
	return v1alpha1.ProtectedResource{ResourceSelector: []v1alpha1.ResourceSelector{s}, ResourceNames: names}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const in, notIn, exists, absent = metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist
	tests := []struct {
		name      string
		selector  v1alpha1.ResourceSelector
		names     []string
		kind      schema.GroupKind
		object    string
		namespace labels.Set
		want      bool
	}{
		{name: "a name selects the object", selector: v1alpha1.ResourceSelector{Name: "a"}, object: "shop/a", want: true},
		{name: "a name selects no other", selector: v1alpha1.ResourceSelector{Name: "a"}, object: "shop/ab"},
		{name: "a name in resourceNames selects", names: []string{"a", "b"}, object: "shop/b", want: true},
		{name: "resourceNames add to the name", selector: v1alpha1.ResourceSelector{Name: "c"}, names: []string{"a"}, object: "shop/a", want: true},
		{name: "and the name still counts", selector: v1alpha1.ResourceSelector{Name: "c"}, names: []string{"a"}, object: "shop/c", want: true},
		{name: "what neither has is not selected", selector: v1alpha1.ResourceSelector{Name: "c"}, names: []string{"a"}, object: "shop/b"},
		{name: "a star selects every name", selector: v1alpha1.ResourceSelector{Name: "*"}, object: "shop/a", want: true},
		{name: "a star selects every name beside resourceNames too", selector: v1alpha1.ResourceSelector{Name: "*"}, names: []string{"a"}, object: "shop/b", want: true},
		{name: "no name selects every name", selector: v1alpha1.ResourceSelector{Namespace: "shop"}, object: "shop/a", want: true},
		{name: "another kind is not selected", selector: v1alpha1.ResourceSelector{Name: "a"}, kind: schema.GroupKind{Kind: "Secret"}, object: "shop/a"},
		{name: "another group is not selected", selector: v1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "a"}, kind: schema.GroupKind{Group: "other", Kind: "Deployment"}, object: "shop/a"},
		{name: "every version of the group is", selector: v1alpha1.ResourceSelector{APIVersion: "apps/v1beta1", Kind: "Deployment", Name: "a"}, kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, object: "shop/a", want: true},
		{name: "a namespace selects in it", selector: v1alpha1.ResourceSelector{Namespace: "shop", Name: "a"}, object: "shop/a", want: true},
		{name: "a namespace does not select elsewhere", selector: v1alpha1.ResourceSelector{Namespace: "shop", Name: "a"}, object: "other/a"},
		{name: "a namespaceSelector asks the namespace's labels", selector: v1alpha1.ResourceSelector{NamespaceSelector: matching("env=prod")}, object: "shop/a", namespace: set("env=prod"), want: true},
		{name: "not the object's", selector: v1alpha1.ResourceSelector{NamespaceSelector: matching("env=prod")}, object: "shop/a env=prod"},
		{name: "a namespaceSelector selects nothing without a namespace", selector: v1alpha1.ResourceSelector{NamespaceSelector: expression("env", absent)}, object: "/a"},
		{name: "a labelSelector asks the object's labels", selector: v1alpha1.ResourceSelector{LabelSelector: matching("app=web")}, object: "shop/a app=web", want: true},
		{name: "not the namespace's", selector: v1alpha1.ResourceSelector{LabelSelector: matching("app=web")}, object: "shop/a", namespace: set("app=web")},
		{name: "all matchLabels must hold", selector: v1alpha1.ResourceSelector{LabelSelector: matching("app=web", "tier=db")}, object: "shop/a app=web"},
		{name: "In", selector: v1alpha1.ResourceSelector{LabelSelector: expression("app", in, "web", "db")}, object: "shop/a app=db", want: true},
		{name: "NotIn selects what has no such label too", selector: v1alpha1.ResourceSelector{LabelSelector: expression("app", notIn, "web")}, object: "shop/a", want: true},
		{name: "NotIn does not select the value", selector: v1alpha1.ResourceSelector{LabelSelector: expression("app", notIn, "web")}, object: "shop/a app=web"},
		{name: "Exists", selector: v1alpha1.ResourceSelector{LabelSelector: expression("app", exists)}, object: "shop/a app=", want: true},
		{name: "DoesNotExist", selector: v1alpha1.ResourceSelector{LabelSelector: expression("app", absent)}, object: "shop/a app="},
		{name: "the parts of a selector are ANDed", selector: v1alpha1.ResourceSelector{Name: "a", Namespace: "shop", LabelSelector: matching("app=web")}, object: "shop/a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewSet()
			s.Put(protection(t, "p", resource(tt.selector, tt.names...)))
			kind := tt.kind
			if kind == (schema.GroupKind{}) {
				kind = configMaps
			}
			if got := len(s.Match(kind, object(tt.object), tt.namespace)) > 0; got != tt.want {
				t.Errorf("selected: got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestMatch_anyOfTheSelectorsIsEnough(t *testing.T) {
	t.Parallel()
	s := NewSet()
	s.Put(protection(t, "p",
		v1alpha1.ProtectedResource{ResourceSelector: []v1alpha1.ResourceSelector{{Name: "a"}, {Namespace: "shop"}}},
		resource(v1alpha1.ResourceSelector{LabelSelector: matching("app=web")}, "c"),
	))
	for text, want := range map[string]bool{"x/a": true, "shop/b": true, "x/c app=web": true, "x/c": false, "x/b app=web": false} {
		if got := len(s.Match(configMaps, object(text), nil)); got != map[bool]int{true: 1}[want] {
			t.Errorf("%s: selected %d times, want %t", text, got, want)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	in := &v1alpha1.ResourceDeletionProtection{Spec: v1alpha1.ResourceDeletionProtectionSpec{Reason: "r", Message: "m"}}
	in.Name = "p"
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Protection{Name: "p", Mode: v1alpha1.ModeAlways, Reason: "r", Message: "m"}, p); diff != "" {
		t.Errorf("a protection without a mode (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name     string
		selector v1alpha1.ResourceSelector
		want     string
	}{
		{name: "an apiVersion with two slashes", selector: v1alpha1.ResourceSelector{APIVersion: "a/b/c"}, want: "spec.protectedResources[0].resourceSelector[0]: apiVersion: "},
		{name: "a label that is none", selector: v1alpha1.ResourceSelector{LabelSelector: matching("!=x")}, want: "labelSelector: matchLabels: "},
		{name: "an operator without values", selector: v1alpha1.ResourceSelector{NamespaceSelector: expression("a", metav1.LabelSelectorOpIn)}, want: "namespaceSelector: matchExpressions[0]: "},
		{name: "an operator that is none", selector: v1alpha1.ResourceSelector{LabelSelector: expression("a", "Like", "b")}, want: "labelSelector: matchExpressions[0]: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(&v1alpha1.ResourceDeletionProtection{Spec: v1alpha1.ResourceDeletionProtectionSpec{ProtectedResources: []v1alpha1.ProtectedResource{resource(tt.selector)}}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got the error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestValueAndDetail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		protections   []*Protection
		value, detail string
	}{
		{name: "one is named", protections: []*Protection{{Name: "one"}}, value: "one", detail: "one"},
		{name: "the reason is told", protections: []*Protection{{Name: "one", Reason: "it is live"}}, value: "one", detail: "one (it is live)"},
		{name: "the message goes before the reason", protections: []*Protection{{Name: "one", Reason: "it is live", Message: "ask Ann"}}, value: "one", detail: "one (ask Ann)"},
		{name: "several are counted, and named to people", protections: []*Protection{{Name: "one", Message: "ask Ann"}, {Name: "two"}}, value: "2_protections", detail: "one (ask Ann), two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{tt.value, tt.detail}, []string{Value(tt.protections), Detail(tt.protections)}); diff != "" {
				t.Errorf("value and detail (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelKeys(t *testing.T) {
	t.Parallel()
	const exists = metav1.LabelSelectorOpExists
	byLabels := func(keys ...string) v1alpha1.ResourceSelector {
		s := v1alpha1.ResourceSelector{LabelSelector: &v1alpha1.ObjectSelector{}}
		for _, key := range keys {
			s.LabelSelector.MatchExpressions = append(s.LabelSelector.MatchExpressions, v1alpha1.LabelRequirement{Key: key, Operator: exists})
		}
		return s
	}
	inNamespaces := byLabels("app")
	inNamespaces.NamespaceSelector = matching("team=a")
	const object1 = "shop/a app=x tier=y example.com/own=z shop.tree.hnc.x-k8s.io/depth=1"
	tests := []struct {
		name        string
		protections []*Protection
		want        string
	}{
		{name: "by name alone", protections: []*Protection{protection(t, "p", resource(v1alpha1.ResourceSelector{Name: "a"}))}},
		{name: "in order", protections: []*Protection{protection(t, "p", resource(byLabels("tier", "example.com/own", "app")))}, want: "app,example.com/own,tier"},
		{
			name:        "of all protections",
			protections: []*Protection{protection(t, "p", resource(byLabels("tier"))), protection(t, "q", resource(byLabels("app", "tier")))}, want: "app,tier",
		},
		{name: "a selector of other objects adds none", protections: []*Protection{protection(t, "p", resource(byLabels("app")), resource(byLabels("missing")))}, want: "app"},
		{name: "a protection that names the object as well adds none", protections: []*Protection{protection(t, "p", resource(byLabels("app")), resource(v1alpha1.ResourceSelector{Name: "a"}))}},
		{name: "the name and labels are both needed", protections: []*Protection{protection(t, "p", resource(byLabels("app"), "a"))}, want: "app"},
		{name: "those of namespaces are not the object's", protections: []*Protection{protection(t, "p", resource(inNamespaces))}, want: "app"},
		{name: "those that Holdfast keeps change with the tree", protections: []*Protection{protection(t, "p", resource(byLabels("app", "shop.tree.hnc.x-k8s.io/depth")))}, want: "app"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := LabelKeys(tt.protections, configMaps, object(object1), set("team=a")); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
