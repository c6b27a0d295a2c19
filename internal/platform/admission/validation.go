// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Validation is a webhook that refuses objects of one of Holdfast's own kinds with
// mistakes that their schema cannot find, such as an expression that does not compile.
// It fails open: one that comes in while no replica answers is not in force, and its
// status says why.
func Validation[T any](kind, resource string, enabled bool, check func(*T) field.ErrorList) Webhook {
	mode := configv1alpha1.ModeOff
	if enabled {
		mode = configv1alpha1.ModeEnforce
	}
	name := strings.ToLower(kind) + "." + v1alpha1.GroupName
	return Webhook{
		Name: name, Mode: mode, Path: "/validate-" + strings.ToLower(kind),
		Handler: &webhook.Admission{Handler: Refusing(name, validator[T]{kind, check})},
		Spec: admissionregistrationv1.ValidatingWebhook{
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{v1alpha1.GroupName}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource},
				},
			}},
			FailurePolicy: new(admissionregistrationv1.Ignore),
			SideEffects:   new(admissionregistrationv1.SideEffectClassNone),
		},
	}
}

type validator[T any] struct {
	kind  string
	check func(*T) field.ErrorList
}

// Handle implements the handler of an admission webhook.
func (v validator[T]) Handle(_ context.Context, req ctrladmission.Request) ctrladmission.Response {
	in := new(T)
	if err := json.Unmarshal(req.Object.Raw, in); err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, fmt.Errorf("decode %s: %w", v.kind, err))
	}
	problems := v.check(in)
	if len(problems) == 0 {
		return ctrladmission.Allowed("")
	}
	status := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v.kind).GroupKind(), req.Name, problems).Status()
	response := ctrladmission.Denied("")
	response.Result = &status
	return response
}
