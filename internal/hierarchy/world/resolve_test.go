// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// serves is an API server with some resources beside Roles: "secrets" or
// "things.a.com".
func serves(resources ...string) *inventory.Snapshot {
	kinds := []inventory.Kind{roles}
	for _, r := range resources {
		gr := schema.ParseGroupResource(r)
		kinds = append(kinds, inventory.Kind{
			Resource: gr.WithVersion("v1"), Kind: strings.TrimSuffix(strings.ToUpper(r[:1])+gr.Resource[1:], "s"), Namespaced: true, Verbs: roles.Verbs,
		})
	}
	return inventory.NewSnapshot(kinds)
}

// means is what an entry of an HNCConfiguration without a group means in a World.
func means(r *rig, resource string) string {
	for _, is := range r.Config().Resources {
		if is.ResourceSpec.Resource == resource && is.Group == "" {
			return strings.TrimSpace(fmt.Sprint(is.Kind.GroupResource(), " ", is.Message))
		}
	}
	return ""
}

func TestResolve_withoutAGroup(t *testing.T) {
	t.Parallel()
	const nobodyKnows = "the resource things is in several groups, and the entry says none: things.a.com, things.b.com"
	for _, tt := range []struct {
		name     string
		resource string
		steps    [][]string // what is served, one after the other
		want     string
	}{
		{"the core group", "secrets", [][]string{{"secrets"}}, "secrets"},
		{"the core group, whatever else there is", "secrets", [][]string{{"secrets", "secrets.a.com"}}, "secrets"},
		{"the same in the singular", "Secret", [][]string{{"secrets.a.com", "secrets"}}, "secrets"},
		{"the one group that has it", "things", [][]string{{"things.a.com"}}, "things.a.com"},
		{"several groups", "things", [][]string{{"things.b.com", "things.a.com"}}, nobodyKnows},
		{"several in the singular", "thing", [][]string{{"things.b.com", "things.a.com"}}, strings.Replace(nobodyKnows, "things", "thing", 1)},
		{"another one that comes later", "things", [][]string{{"things.b.com"}, {"things.a.com", "things.b.com"}}, "things.b.com"},
		{"one that comes when the first has gone", "things", [][]string{{"things.b.com"}, {}, {"things.a.com"}}, "the API server serves no resource things.b.com"},
		{"one that comes first", "things", [][]string{{}, {"things.a.com"}}, "things.a.com"},
		{"several, of which one goes", "things", [][]string{{"things.a.com", "things.b.com"}, {"things.b.com"}}, "things.b.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.do(func(s *state, _ *batch) {
				s.hnc = &hncv1alpha2.HNCConfiguration{Spec: hncv1alpha2.HNCConfigurationSpec{Resources: []hncv1alpha2.ResourceSpec{{Resource: tt.resource}}}}
			})
			for _, served := range tt.steps {
				r.do(func(s *state, b *batch) { s.setResources(serves(served...), b) })
			}
			if got := means(r, tt.resource); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
