// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// timeoutSeconds is short, because the answer needs no other request.
	timeoutSeconds = 3
	// auditKept is the key under which the API server's audit log has the marks that were set back, after the webhook's
	// name and a slash.
	auditKept = "kept"

	serviceAccount = "request.userInfo.?username.orValue('').startsWith('system:serviceaccount:')"
)

// Webhook restores marks in updates that the policy PolicyName would deny, so that these are admitted. An operator replaces
// all labels of an object: it adds labels of its custom resource, and drops labels that it does not know. A user applies an
// old manifest. The webhook also restores marks that a service account with the verb unprotect removes: a GitOps tool with
// all rights removes what is not in Git. If no replica answers, the policy decides alone.
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
			TimeoutSeconds:  ptr.To[int32](timeoutSeconds),
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
	sent := object.GetLabels()
	labels, changed := unchanged(keys, sent, old.GetLabels())
	restored := guarded
	if len(changed) > 0 { // with the details of the marks: Holdfast would write them after each such update
		restored = slices.Concat(keys, guarded)
	}
	annotations, beside := unchanged(restored, object.GetAnnotations(), old.GetAnnotations())
	var text string
	switch {
	case len(changed) > 0:
		object.SetLabels(labels)
		text = warning(changed, len(sent) < len(labels))
	case len(beside) > 0:
		changed = beside
		text = "the annotations " + strings.Join(beside, ", ") + " were not changed: only Holdfast writes them, beside its marks"
	default:
		return ctrladmission.Allowed("")
	}
	if len(beside) > 0 {
		object.SetAnnotations(annotations)
	}
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return ctrladmission.Errored(http.StatusInternalServerError, err)
	}
	response := ctrladmission.PatchResponseFromRaw(req.Object.Raw, raw)
	response.Warnings = []string{text}
	response.AuditAnnotations = map[string]string{auditKept: strings.Join(changed, ",")}
	return response
}

// warning tells what the webhook restored, and how to have a mark removed if the update removed one.
func warning(changed []string, removed bool) string {
	text := "the labels " + strings.Join(changed, ", ") + " were not changed: they are marks of Holdfast"
	if len(changed) == 1 {
		text = "the label " + changed[0] + " was not changed: it is a mark of Holdfast"
	}
	if removed {
		text += ". Change the ResourceDeletionProtection that selects the object, or what is protected below it, and Holdfast removes the mark"
	}
	return text
}

// unchanged returns labels or annotations with those of keys that old has, and the keys that this changed.
func unchanged(keys []string, sent, old map[string]string) (out map[string]string, changed []string) {
	out = map[string]string{}
	maps.Copy(out, sent)
	for _, key := range keys {
		is, has := sent[key]
		was, had := old[key]
		delete(out, key)
		if had {
			out[key] = was
		}
		if had != has || was != is {
			changed = append(changed, key)
		}
	}
	return out, changed
}
