// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

var things = schema.GroupResource{Group: "example.com", Resource: "things"}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		may   []string
		fails bool
		want  Missing
		reads bool
	}{
		{name: "all rights", may: verbs, reads: true},
		{name: "rights to read", may: []string{"get", "list", "watch"}, want: Missing{"create", "update", "delete"}, reads: true},
		{name: "none", want: Missing{"get", "list", "watch", "create", "update", "delete"}},
		{name: "nobody answers", fails: true, reads: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := fake.NewClientset()
			c.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if tt.fails {
					return true, nil, errors.New("out of order")
				}
				review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
				of := review.Spec.ResourceAttributes
				review.Status.Allowed = of.Group == things.Group && of.Resource == things.Resource && of.Namespace == "" && slices.Contains(tt.may, of.Verb)
				return true, review, nil
			})
			got, err := Of(t.Context(), c.AuthorizationV1(), things)
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.fails || got.Reads() != tt.reads {
				t.Errorf("error %v, reads: %t (-want +got):\n%s", err, got.Reads(), diff)
			}
		})
	}
}

// Administrators paste the rule.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const user, before = "system:serviceaccount:holdfast-system:holdfast-guard", " may not create, delete things.example.com, so these are not copied: " +
		"bind it to a ClusterRole with the rule "
	text := Missing{"create", "delete"}.Advice(things, user)
	rule, found := text[len(user+before):], text[:len(user+before)] == user+before
	if !found {
		t.Fatalf("got %q", text)
	}
	var got rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(rule), &got); err != nil {
		t.Fatalf("%s: %v", rule, err)
	}
	want := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: verbs}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
}
