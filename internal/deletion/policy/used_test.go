// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// What each value does on each kind, for every label: "-" leaves the object open,
// "!" protects it, "?" protects it while it is in use. A value in parentheses may
// not be set there.
func TestKey_valuesPerKind(t *testing.T) {
	t.Parallel()
	kinds := []string{"configmaps", "pods", "apps.daemonsets", "apps.other.deployments"}
	used := make([]string, 0, len(UsedKinds))
	for _, k := range UsedKinds {
		used = append(used, k.Group+"."+k.Resource)
	}
	tests := []struct {
		label, value string
		used, other  string
	}{
		{label: strict, value: "", used: "-", other: "-"},
		{label: strict, value: "Always", used: "!", other: "!"},
		{label: strict, value: "Cascading", used: "?", other: "(!)"},
		{label: strict, value: "cascading", used: "(!)", other: "(!)"},
		{label: karmada, value: "", used: "-", other: "-"},
		{label: karmada, value: "Always", used: "!", other: "!"},
		{label: karmada, value: "Cascading", used: "(-)", other: "(-)"},
		{label: kruise, value: "", used: "-", other: "-"},
		{label: kruise, value: "Always", used: "!", other: "!"},
		{label: kruise, value: "Cascading", used: "?", other: "(-)"},
		{label: kruise, value: "always", used: "(-)", other: "(-)"},
		{label: v1alpha1.ProtectedByMark, value: "", used: "-", other: "-"},
		{label: v1alpha1.ProtectedByMark, value: "Cascading", used: "(!)", other: "(!)"}, // a protection may be called that
		{label: v1alpha1.ProtectedWhileUsedByMark, value: "", used: "-", other: "-"},
		{label: v1alpha1.ProtectedWhileUsedByMark, value: "Always", used: "(?)", other: "(?)"},
		{label: v1alpha1.HoldsProtectedMark, value: "true", used: "(!)", other: "(!)"},
	}
	show := func(k Key, r schema.GroupResource, value string) string {
		out := map[effect]string{open: "-", protected: "!", protectedWhileUsed: "?"}[k.effect(r, value)]
		if k.Protects(r, value) != (out != "-") || k.WhileUsed(r, value) != (out == "?") {
			return "contradiction"
		}
		if !k.Knows(r, value) {
			out = "(" + out + ")"
		}
		return out
	}
	for _, tt := range tests {
		for _, k := range defaultRules(nil).Keys {
			if k.Label != tt.label {
				continue
			}
			for _, kind := range used {
				if got := show(k, groupResource(kind), tt.value); got != tt.used {
					t.Errorf("%s=%s on %s: got %s, want %s", tt.label, tt.value, kind, got, tt.used)
				}
			}
			for _, kind := range kinds {
				if got := show(k, groupResource(kind), tt.value); got != tt.other {
					t.Errorf("%s=%s on %s: got %s, want %s", tt.label, tt.value, kind, got, tt.other)
				}
			}
		}
	}
}

// groupResource reads "group.resource", whose group may have dots, or "resource".
func groupResource(s string) schema.GroupResource {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return schema.GroupResource{Group: s[:i], Resource: s[i+1:]}
		}
	}
	return schema.GroupResource{Resource: s}
}

func TestDecide_cascading(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		resource string
		label    string
		used     bool
		want     string
	}{
		{name: "a workload in use stays", resource: "apps.deployments", label: strict, used: true, want: "delete holdfast"},
		{name: "a workload that is not in use goes", resource: "apps.deployments", label: strict},
		{name: "OpenKruise's label does the same", resource: "apps.deployments", label: kruise, used: true, want: "delete kruise"},
		{name: "and lets go the same", resource: "apps.deployments", label: kruise},
		{name: "Karmada has no such value", resource: "apps.deployments", label: karmada, used: true},
		{name: "on a kind without use the strict label protects for good", resource: "configmaps", label: strict, want: "delete holdfast"},
		{name: "on a kind without use OpenKruise's does not protect", resource: "configmaps", label: kruise},
		{name: "a namespace's use is looked up, so a policy lets it pass", resource: "namespaces", label: strict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := defaultRules(nil).Decide(Request{
				Operation: admissionv1.Delete, Resource: groupResource(tt.resource), OldObject: object(tt.label + "=Cascading"), Used: tt.used,
			})
			if diff := cmp.Diff(tt.want, summary(got)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide_unprotectingCascading(t *testing.T) {
	t.Parallel()
	strictKruise := func(c *configv1alpha1.DeletionConfiguration) { c.Labels.Kruise = configv1alpha1.LabelStrict }
	tests := []struct {
		name     string
		resource string
		old, new string
		want     string
	}{
		{name: "Cascading becomes Always", resource: "apps.deployments", old: "=Cascading", new: "=Always"},
		{name: "Always does not become Cascading", resource: "apps.deployments", old: "=Always", new: "=Cascading", want: "unprotect holdfast, unprotect kruise"},
		{name: "Cascading is not taken away, in use or not", resource: "apps.deployments", old: "=Cascading", want: "unprotect holdfast, unprotect kruise"},
		{name: "where it means nothing to OpenKruise it is", resource: "configmaps", old: "=Cascading", want: "unprotect holdfast"},
		{name: "where it means nothing it is not set, or warned of", resource: "configmaps", new: "=Cascading", want: "value holdfast, value-stands kruise (warn)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			labelled := func(value string) *metav1.PartialObjectMetadata {
				if value == "" {
					return object()
				}
				return object(strict+value, kruise+value)
			}
			got := defaultRules(strictKruise).Decide(Request{
				Operation: admissionv1.Update, Resource: groupResource(tt.resource), OldObject: labelled(tt.old), Object: labelled(tt.new),
			})
			if diff := cmp.Diff(tt.want, summary(got)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromAdmission_whatShowsUse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		resource string
		object   string
		want     bool
	}{
		{name: "a workload that wants replicas is in use", resource: "apps.deployments", object: `{"spec":{"replicas":2}}`, want: true},
		{name: "a workload that wants none is not", resource: "apps.deployments", object: `{"spec":{"replicas":0}}`},
		{name: "what still runs of it does not count", resource: "apps.statefulsets", object: `{"spec":{"replicas":0},"status":{"replicas":3}}`},
		{name: "a workload that does not say wants one", resource: "apps.replicasets", object: `{"spec":{}}`, want: true},
		{name: "OpenKruise's kinds count", resource: "apps.kruise.io.clonesets", object: `{"spec":{"replicas":1}}`, want: true},
		{name: "replicas of other kinds do not", resource: "example.com.deployments", object: `{"spec":{"replicas":1}}`},
		{name: "a Service with an address is in use", resource: "services", object: `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`, want: true},
		{name: "a Service with ready endpoints is in use", resource: "services", object: `{"metadata":{"uid":"1","labels":{"holdfast.dev/in-use":"true","holdfast.dev/marked":"1"}}}`, want: true},
		{name: "a Service that carries the mark of another is not", resource: "services", object: `{"metadata":{"uid":"1","labels":{"holdfast.dev/in-use":"true","holdfast.dev/marked":"2"}}}`},
		{name: "a Service with neither is not", resource: "services", object: `{"status":{"loadBalancer":{"ingress":[]}},"metadata":{"uid":"1","labels":{"holdfast.dev/in-use":"","holdfast.dev/marked":"1"}}}`},
		{name: "an Ingress with an address is in use", resource: "networking.k8s.io.ingresses", object: `{"status":{"loadBalancer":{"ingress":[{"hostname":"a"}]}}}`, want: true},
		{name: "the mark says nothing of an Ingress", resource: "networking.k8s.io.ingresses", object: `{"metadata":{"uid":"1","labels":{"holdfast.dev/in-use":"true","holdfast.dev/marked":"1"}}}`},
		{name: "of a Namespace nothing shows", resource: "namespaces", object: `{"spec":{"replicas":1},"status":{"loadBalancer":{"ingress":[{}]}}}`},
		{name: "of a ConfigMap nothing shows", resource: "configmaps", object: `{"spec":{"replicas":1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gr := groupResource(tt.resource)
			got, err := FromAdmission(&admissionv1.AdmissionRequest{
				Operation: admissionv1.Delete, Resource: metav1.GroupVersionResource{Group: gr.Group, Version: "v1", Resource: gr.Resource},
				OldObject: runtime.RawExtension{Raw: []byte(tt.object)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Used != tt.want {
				t.Errorf("used: got %t, want %t", got.Used, tt.want)
			}
		})
	}
}

// Whoever decodes with the machinery's own decoder gets whole numbers.
func TestUsed_readsWholeNumbers(t *testing.T) {
	t.Parallel()
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for replicas, want := range map[any]bool{int64(0): false, int64(3): true, float64(0): false, float64(3): true, json.Number("x"): false} {
		object := map[string]any{"spec": map[string]any{"replicas": replicas}}
		if got := Used(deployments, object); got != want {
			t.Errorf("%T(%v): got %t, want %t", replicas, replicas, got, want)
		}
	}
}

func TestFromAdmission_whatTheOptionsSay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options string
		want    bool
	}{
		{name: "no options orphan nothing"},
		{name: "options that do not say orphan nothing", options: `{"kind":"DeleteOptions"}`},
		{name: "in the background nothing is orphaned", options: `{"propagationPolicy":"Background"}`},
		{name: "in the foreground nothing is orphaned", options: `{"propagationPolicy":"Foreground"}`},
		{name: "orphaning is asked for", options: `{"propagationPolicy":"Orphan"}`, want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := &admissionv1.AdmissionRequest{Operation: admissionv1.Delete, OldObject: runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"a"}}`)}}
			if tt.options != "" {
				in.Options.Raw = []byte(tt.options)
			}
			got, err := FromAdmission(in)
			if err != nil {
				t.Fatal(err)
			}
			if got.Orphans != tt.want {
				t.Errorf("orphans: got %t, want %t", got.Orphans, tt.want)
			}
			if got.Released || got.MayUnprotect || got.MayBypass != nil {
				t.Errorf("the request says what it cannot know: %+v", got)
			}
		})
	}
	in := &admissionv1.AdmissionRequest{Operation: admissionv1.Delete, OldObject: runtime.RawExtension{Raw: []byte(`{}`)}, Options: runtime.RawExtension{Raw: []byte(`{`)}}
	if _, err := FromAdmission(in); err == nil {
		t.Error("options that are not JSON: got no error")
	}
}
