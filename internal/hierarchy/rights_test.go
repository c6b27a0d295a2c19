// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// Who is an admin of a namespace keeps the tree below it, as with HNC 1.1, and is one
// there too; who may view a namespace sees where it stands.
func TestRights_ofAdminsAndViewersOfANamespace(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run("tree a b")
	for user, role := range map[string]string{"ann": "admin", "vic": "view"} {
		r.Apply(t, r.name("a"), r.long(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: `+user+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+role+`}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "{.}-`+user+`"}]
`))
	}
	ann, vic := r.As(t, r.name("ann")), r.As(t, r.name("vic"))
	soon := func(do func() error) {
		t.Helper()
		r.Eventually(do, patience, often).Should(gomega.Succeed())
	}
	never := func(err error) {
		t.Helper()
		r.Expect(err).To(gomega.Satisfy(apierrors.IsForbidden))
	}

	soon(func() error { return r.try(ann, "anchor", "a/s", `{}`) })
	r.run("see anchor a/s: Ok\nsee copies rb ann: a s<a")
	soon(func() error { return r.try(ann, "hc", "s", `{"spec":{"allowCascadingDeletion":true}}`) })
	never(r.try(ann, "hc", "b", `{"spec":{"allowCascadingDeletion":true}}`))
	never(r.try(ann, "anchor", "b/s", `{}`))

	soon(func() error {
		return vic.List(t.Context(), &hncv1alpha2.SubnamespaceAnchorList{}, client.InNamespace(r.name("a")))
	})
	soon(func() error {
		return vic.List(t.Context(), &hncv1alpha2.HierarchyConfigurationList{}, client.InNamespace(r.name("s")))
	})
	never(r.try(vic, "anchor", "a/t", `{}`))

	soon(func() error { return ann.Delete(t.Context(), r.object("anchor", "a/s")) })
	r.run("see there ns s: no")
}

// Every verb of the role is used here by an admin, and the role has no other.
func TestRights_ofAdminsAreThoseThatTheyNeed(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run("tree a")
	r.Apply(t, r.name("a"), r.long(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ann}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "{.}-ann"}]
`))
	config := rest.CopyConfig(r.Config)
	config.Impersonate.UserName = r.name("ann")
	ann, err := client.NewWithWatch(config, client.Options{Scheme: r.Client.Scheme(), Mapper: r.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	in := client.InNamespace(r.name("a"))
	for _, o := range []struct {
		resource string
		object   client.Object
		list     client.ObjectList
		patch    string
	}{
		{"hierarchyconfigurations", r.object("hc", "a"), &hncv1alpha2.HierarchyConfigurationList{}, `{"spec":{"allowCascadingDeletion":true}}`},
		{"subnamespaceanchors", r.object("anchor", "a/s"), &hncv1alpha2.SubnamespaceAnchorList{}, `{"metadata":{"labels":{"x":"y"}}}`},
	} {
		get := func() error { return ann.Get(t.Context(), client.ObjectKeyFromObject(o.object), o.object) }
		verbs := []struct {
			verb string
			do   func() error
		}{
			{"create", func() error { return ann.Create(t.Context(), o.object) }},
			{"get", get},
			{"list", func() error { return ann.List(t.Context(), o.list, in) }},
			{"watch", func() error {
				w, err := ann.Watch(t.Context(), o.list, in)
				if err == nil {
					w.Stop()
				}
				return err
			}},
			{"patch", func() error {
				return ann.Patch(t.Context(), o.object, client.RawPatch(types.MergePatchType, []byte(o.patch)))
			}},
			{"update", func() error { return errors.Join(get(), ann.Update(t.Context(), o.object)) }},
			{"delete", func() error { return ann.Delete(t.Context(), o.object) }},
		}
		var used []string
		for _, v := range verbs {
			used = append(used, v.verb)
			r.Eventually(v.do, patience, often).Should(gomega.Succeed(), "%s %s", v.verb, o.resource)
		}
		role := &rbacv1.ClusterRole{}
		if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-hierarchy-admin"}, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if !slices.Contains(rule.Resources, o.resource) {
				t.Errorf("the rule for %v is not about %s", rule.Resources, o.resource)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(used)), slices.Sorted(slices.Values(rule.Verbs))); diff != "" {
				t.Errorf("verbs of %s (-used +has):\n%s", o.resource, diff)
			}
		}
	}
	kube, err := kubernetes.NewForConfig(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{
		"deletecollection subnamespaceanchors", "update subnamespaceanchors/status", "update subnamespaceanchors/finalizers",
		"patch hierarchyconfigurations/status", "update hncconfigurations", "create hierarchicalresourcequotas",
	} {
		verb, resource, _ := strings.Cut(not, " ")
		resource, subresource, _ := strings.Cut(resource, "/")
		review, err := kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: r.name("ann"), ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.name("a"), Verb: verb, Group: hncv1alpha2.GroupName, Resource: resource, Subresource: subresource,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed {
			t.Errorf("an admin may %s", not)
		}
	}
}
