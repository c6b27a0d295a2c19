// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// AuditRefusal is the key under which a webhook writes into the API server's audit
	// log what speaks against a request, whether it refuses the request or lets it
	// pass. The API server puts the webhook's name and a slash before it.
	AuditRefusal = "refusal"
	// PolicyAuditKey is the key under which the API server writes the same for
	// policies, by the action Audit that each binding has.
	PolicyAuditKey = "validation.policy.admission.k8s.io/validation_failure"
)

// Refusal answers with what speaks against a request, and counts it: in mode Enforce
// the request is refused, in Warn the client is told, and in each the audit log has it.
func Refusal(webhook string, mode configv1alpha1.Mode, why metav1.Status) ctrladmission.Response {
	CountRefusal(webhook, mode)
	response := ctrladmission.Allowed("")
	switch mode {
	case configv1alpha1.ModeEnforce:
		response.Allowed, response.Result = false, &why
	case configv1alpha1.ModeWarn:
		response.Warnings = []string{why.Message}
	}
	response.AuditAnnotations = map[string]string{AuditRefusal: why.Message}
	return response
}

// Refusing has whatever a handler refuses counted, and written into the audit log. It
// is for handlers that refuse in one mode alone, Enforce.
func Refusing(webhook string, h ctrladmission.Handler) ctrladmission.Handler {
	return ctrladmission.HandlerFunc(func(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
		response := h.Handle(ctx, req)
		if response.Allowed || response.Result == nil {
			return response
		}
		refused := Refusal(webhook, configv1alpha1.ModeEnforce, *response.Result)
		refused.Warnings = response.Warnings
		return refused
	})
}

// CountRefusal is for webhooks that make up their answers themselves.
func CountRefusal(webhook string, mode configv1alpha1.Mode) {
	refusals.WithLabelValues(webhook, string(mode)).Inc()
}

const (
	// longestNote is the most that the API server takes of an Event's note, in bytes.
	longestNote = 1024
	// burst is how many refusals are told of at once, and each second so many more:
	// who deletes a thousand things must not cost the API server as many Events.
	burst, eachSecond = 20, 5
)

// Observer tells people by Events what mode Enforce would have refused. In mode Warn
// the client sees it, in mode Audit nobody would.
type Observer struct {
	recorder events.EventRecorder
	limit    flowcontrol.PassiveRateLimiter
}

// NewObserver makes an Observer.
func NewObserver(r events.EventRecorder) *Observer {
	return &Observer{recorder: r, limit: flowcontrol.NewTokenBucketPassiveRateLimiter(eachSecond, burst)}
}

// Tell tells of a request that passes by mode Audit, at the object that it is about.
// Nothing is written for a dry run.
func (o *Observer) Tell(mode configv1alpha1.Mode, req *admissionv1.AdmissionRequest, why string) {
	if req.DryRun != nil && *req.DryRun {
		return
	}
	about := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: metav1.GroupVersion{Group: req.Kind.Group, Version: req.Kind.Version}.String(), Kind: req.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace, UID: uidOf(req.OldObject.Raw)},
	}
	if req.Kind.Kind == "Namespace" && req.Kind.Group == corev1.GroupName {
		about.Namespace = "" // it is said to be in itself, where no Event can be made once it goes
	}
	o.TellAbout(mode, about, req.UserInfo.Username, why)
}

// uidOf an object; what is being made has none.
func uidOf(raw []byte) types.UID {
	var o metav1.PartialObjectMetadata
	if len(raw) == 0 || json.Unmarshal(raw, &o) != nil {
		return ""
	}
	return o.UID
}

// TellAbout is Tell for those who know what a request is about, which is no dry run.
func (o *Observer) TellAbout(mode configv1alpha1.Mode, about client.Object, user, why string) {
	if o == nil || mode != configv1alpha1.ModeAudit || about.GetName() == "" || !o.limit.TryAccept() {
		return
	}
	o.recorder.Eventf(about, nil, corev1.EventTypeWarning, v1alpha1.ReasonWouldRefuse, "Admit", "%s", note(user, why))
}

// note is in one line, and as long as may be.
func note(user, why string) string {
	text := "mode Enforce would refuse this to " + user + ": " + strings.Join(strings.Fields(why), " ")
	if len(text) > longestNote {
		text = strings.ToValidUTF8(text[:longestNote-len(" …")], "") + " …"
	}
	return text
}
