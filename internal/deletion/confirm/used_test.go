// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

func TestDefinedBy(t *testing.T) {
	t.Parallel()
	kind := func(version string, namespaced bool) inventory.Kind {
		return inventory.Kind{
			Resource: schema.GroupVersionResource{Group: "example.org", Version: version, Resource: "gadgets"},
			Kind:     "Gadget", Namespaced: namespaced, CRD: true,
		}
	}
	for _, tt := range []struct {
		name, scope, versions string
		want                  inventory.Kind
	}{
		{"the only version", "Namespaced", `{"name":"v1","served":true,"storage":true}`, kind("v1", true)},
		{"the stored version, which needs no conversion", "Cluster", `{"name":"v1","served":true},{"name":"v2","served":true,"storage":true}`, kind("v2", false)},
		{"a served version where the stored one is not", "Cluster", `{"name":"v1","served":true},{"name":"v2","storage":true}`, kind("v1", false)},
		{"none where none is served", "Cluster", `{"name":"v1","storage":true}`, kind("", false)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := definedBy("gadgets.example.org", []byte(`{"spec":{"group":"example.org","scope":"`+tt.scope+`","names":{"plural":"gadgets","kind":"Gadget"},"versions":[`+tt.versions+`]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("kind (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefinedBy_anotherKindThanItsName(t *testing.T) {
	t.Parallel()
	for name, definition := range map[string]string{
		"gadgets.example.org": `{"spec":{"group":"example.org","names":{"plural":"widgets"},"versions":[{"name":"v1","served":true}]}}`,
		"secrets.":            `{"spec":{"group":"","names":{"plural":"secrets"},"versions":[{"name":"v1","served":true}]}}`,
		"secrets":             `{"spec":{"group":"","names":{"plural":"secrets"},"versions":[{"name":"v1","served":true}]}}`,
		"x.y":                 `{"spec":{"group":"y","names":{"plural":5}}}`,
	} {
		if got, err := definedBy(name, []byte(definition)); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// FuzzSubject reads whatever a review says: what is looked at is the kind that the name of the definition says, and reviews
// share a look only if it is the same one.
func FuzzSubject(f *testing.F) {
	for _, seed := range [][3]string{
		{"customresourcedefinitions", "gadgets.example.org", `{"spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true}]}}`},
		{"customresourcedefinitions", "gadgets.example.org", `{"spec":{"group":"","names":{"plural":"secrets"},"versions":[{"name":"v1","served":true}]}}`},
		{"customresourcedefinitions", "secrets.", `{"spec":{"group":"","names":{"plural":"secrets"},"versions":[{"name":"v1","served":true}]}}`},
		{"customresourcedefinitions", "../../api/v1/secrets", `{"spec":{"versions":[{"name":"..","served":true}]}}`},
		{"namespaces", "../secrets", `{}`}, {"namespaces", "shop", `[]`}, {"pods", "x", `{"spec":5}`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	keys := map[string]string{}
	f.Fuzz(func(t *testing.T, resource, name, old string) {
		var req ctrladmission.Request
		req.Resource.Resource, req.OldObject.Raw = resource, []byte(old)
		o := &metav1.PartialObjectMetadata{}
		o.Name = name
		s, err := NewHandler(Options{}).subjectOf(req, o)
		if err != nil {
			if s.key != "" {
				t.Errorf("a key %q beside %v", s.key, err)
			}
			return
		}
		looksAt := "namespace " + name
		if resource != "namespaces" {
			k, err := definedBy(name, []byte(old))
			if err != nil || k.Resource.Group == "" || k.Resource.Resource+"."+k.Resource.Group != name {
				t.Errorf("%s of %s: %+v, %v", resource, name, k, err)
			}
			looksAt = fmt.Sprintf("%v of %s %t", k.Resource, k.Kind, k.Namespaced)
		}
		if before, ok := keys[s.key]; ok && before != looksAt {
			t.Errorf("%q stands for %s and for %s", s.key, before, looksAt)
		}
		keys[s.key] = looksAt
	})
}
