// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

// MayUnprotect is a policy's variable mayUnprotect: whether the user holds the
// verb that takes protection away, in the namespace of the object, or
// cluster-wide for a Namespace and what has none.
func MayUnprotect() admissionregistrationv1.Variable {
	return admissionregistrationv1.Variable{
		Name: "mayUnprotect",
		Expression: fmt.Sprintf("authorizer.group(%s).resource(%s)"+
			".namespace(request.resource.group == '' && request.resource.resource == 'namespaces' ? '' : request.?namespace.orValue(''))"+
			".check(%s).allowed()",
			cel.String(v1alpha1.GroupName), cel.String(v1alpha1.UnprotectResource), cel.String(v1alpha1.UnprotectVerb)),
	}
}
