// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

const (
	webhookName = "marks.holdfast.dev"
	webhookPath = "/marks"
	// auditKept is the key under which the API server's audit log has the marks that were set back, after the webhook's
	// name and a slash.
	auditKept = "kept"

	serviceAccount = "request.userInfo.?username.orValue('').startsWith('system:serviceaccount:')"
)

// Webhook sets marks back in the updates that PolicyName would refuse, so that they go through: an operator writes all
// labels of an object, those that it copied from its custom resource or without those that it does not know, and an old
// manifest is applied. It is called for no other request, except that it keeps marks from service accounts with the verb
// unprotect too: a GitOps tool that is allowed everything removes what is not in Git. If no replica answers, the policy
// refuses the update.
func Webhook(mode configv1alpha1.Mode, users []string) admission.Webhook {
	all := onLabel(v1alpha1.MarkedLabel, "*/*", admissionregistrationv1.Update)
	return admission.Webhook{
		Name:     webhookName,
		Mode:     mode,
		Mutating: true,
		Path:     webhookPath,
		Handler:  &webhook.Admission{Handler: ctrladmission.HandlerFunc(setBack)},
		Spec: admissionregistrationv1.ValidatingWebhook{
			Rules:           []admissionregistrationv1.RuleWithOperations{all.ResourceRules[0].RuleWithOperations},
			ObjectSelector:  all.ObjectSelector,
			FailurePolicy:   ptr.To(admissionregistrationv1.Ignore),
			SideEffects:     ptr.To(admissionregistrationv1.SideEffectClassNone),
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "marks", Expression: changes(users, "!"+serviceAccount+" && "+mayRemove)}},
		},
	}
}

func setBack(_ context.Context, req ctrladmission.Request) ctrladmission.Response {
	var object, old unstructured.Unstructured
	if err := errors.Join(json.Unmarshal(req.Object.Raw, &object.Object), json.Unmarshal(req.OldObject.Raw, &old.Object)); err != nil {
		return ctrladmission.Errored(http.StatusBadRequest, fmt.Errorf("decode the request: %w", err))
	}
	labels, changed := unchanged(object.GetLabels(), old.GetLabels())
	if len(changed) == 0 {
		return ctrladmission.Allowed("")
	}
	object.SetLabels(labels)
	// A mark says more in an annotation. Holdfast would write it again after each update of an operator that removes it.
	if annotations, removed := unchanged(object.GetAnnotations(), old.GetAnnotations()); len(removed) > 0 {
		object.SetAnnotations(annotations)
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	}
	response := ctrladmission.PatchResponseFromRaw(req.Object.Raw, raw)
	response.Warnings = []string{warning(changed)}
	response.AuditAnnotations = map[string]string{auditKept: strings.Join(changed, ",")}
	return response
}

func warning(changed []string) string {
	if len(changed) == 1 {
		return "the label " + changed[0] + " stays as it was: it is a mark of Holdfast. " + textMayRemove
	}
	return "the labels " + strings.Join(changed, ", ") + " stay as they were: they are marks of Holdfast. " + textMayRemove
}

// unchanged returns labels or annotations with the marks that old has, and the keys that this changed.
func unchanged(labels, old map[string]string) (out map[string]string, changed []string) {
	out = map[string]string{}
	for key, value := range labels {
		if !slices.Contains(keys, key) {
			out[key] = value
		}
	}
	for _, key := range keys {
		was, had := old[key]
		is, has := labels[key]
		if had {
			out[key] = was
		}
		if had != has || was != is {
			changed = append(changed, key)
		}
	}
	return out, changed
}
