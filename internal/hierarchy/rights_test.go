// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
