// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// What lacks rights is another error than what a policy forbids.
func TestNumber(t *testing.T) {
	t.Parallel()
	cm, role := schema.GroupResource{Resource: "configmaps"}, schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"}
	forbidden := func(r schema.GroupResource, why string) error { return apierrors.NewForbidden(r, "x", errors.New(why)) }
	tests := map[string]struct {
		err  error
		want knv.Code
	}{
		"a verb that is not granted": {forbidden(cm, `User "system:serviceaccount:a:b" cannot patch resource "configmaps" in API group "" in the namespace "n"`), knv.InsufficientRights},
		"rights that it has not": {
			forbidden(role, `user "b" (groups=["c"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""]}`), knv.InsufficientRights,
		},
		"a policy":       {forbidden(cm, `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), knv.Applier},
		"a webhook":      {forbidden(cm, `admission webhook "w" denied the request: User "x" is not who may`), knv.Applier},
		"an invalid one": {apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "x", nil), knv.Applier},
		"no answer":      {errors.New("connection refused"), knv.Applier},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := number(tt.err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
