// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

const validatePath = "/validate-evictionpolicy"

// validator refuses EvictionPolicies with mistakes that their schema cannot find,
// such as a condition that does not compile. It fails open: one that comes in
// while no replica answers is not in force, and its status says why.
type validator struct{}

// Handle implements admission.Handler.
func (validator) Handle(_ context.Context, req ctrladmission.Request) ctrladmission.Response {
	in := &v1alpha1.EvictionPolicy{}
	if err := json.Unmarshal(req.Object.Raw, in); err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, fmt.Errorf("decode EvictionPolicy: %w", err))
	}
	if _, problems := policy.Compile(in); len(problems) > 0 {
		status := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("EvictionPolicy").GroupKind(), in.Name, problems).Status()
		response := ctrladmission.Denied("")
		response.Result = &status
		return response
	}
	return ctrladmission.Allowed("")
}
