// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// WebhookPath is where the webhook is served.
const WebhookPath = "/validate-config"

// Webhook tells whoever writes the ConfigMap of the configuration about a
// mistake in it, at once and with the field: `kubectl edit configmap` opens the
// editor again with the message.
//
// It FAILS OPEN. While it is down a bad configuration can be written, and nobody
// is told in the editor; the manager refuses it all the same when it reads it,
// keeps the last good one, and says so in its log, in LastError and in
// holdfast_config_last_reload_successful. Failing closed would guard nothing,
// and keep people from mending the very configuration that stopped the manager.
//
// It is for CREATE and UPDATE of that one ConfigMap and lets all else pass.
// Deleting the ConfigMap is not its business.
type Webhook struct {
	loader  Loader
	name    types.NamespacedName
	decoder admission.Decoder
}

var _ admission.Handler = &Webhook{}

// NewWebhook returns the handler for the ConfigMap with the name. The loader
// should be that of the store, so that both say the same. The scheme has corev1.
func NewWebhook(loader Loader, name types.NamespacedName, scheme *runtime.Scheme) *Webhook {
	return &Webhook{loader: loader, name: name, decoder: admission.NewDecoder(scheme)}
}

// Handle implements admission.Handler.
func (w *Webhook) Handle(ctx context.Context, req admission.Request) admission.Response {
	if !w.concerns(&req) {
		return admission.Allowed("")
	}
	var after, before corev1.ConfigMap
	if err := w.decoder.Decode(req, &after); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	earlier := &before
	if req.Operation == admissionv1.Create {
		earlier = nil
	} else if err := w.decoder.DecodeRaw(req.OldObject, earlier); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if err := w.loader.Review(earlier, &after); err != nil {
		log.FromContext(ctx).Info("Refused a configuration that is not valid", "reason", err.Error())
		return refused(err)
	}
	return admission.Allowed("")
}

func (w *Webhook) concerns(req *admission.Request) bool {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return false
	}
	return req.SubResource == "" && req.Namespace == w.name.Namespace && req.Name == w.name.Name
}

// Review says whether the ConfigMap may be written; before is nil when it is
// made. The error is an API error, 422 Invalid with every field that is wrong.
// A write that leaves the configuration as it was may pass, however bad it is:
// whoever sets a label did not make the mistake.
func (l Loader) Review(before, after *corev1.ConfigMap) error {
	path := field.NewPath("data").Key(DataKey)
	invalid := func(problems ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, after.Name, problems)
	}
	if before != nil && maps.Equal(before.Data, after.Data) && maps.EqualFunc(before.BinaryData, after.BinaryData, bytes.Equal) {
		return nil
	}
	data, written, err := documentIn(after)
	switch {
	case err != nil:
		return invalid(field.Required(path, err.Error()))
	case !written && l.configures(before):
		return invalid(field.Required(path, errWithdrawn.Error()))
	}
	if _, err := l.Load(data); err != nil {
		return invalid(problemsOf(err, path)...)
	}
	return nil
}

// configures reports whether a ConfigMap has another configuration than the empty one, or tries to.
func (l Loader) configures(cm *corev1.ConfigMap) bool {
	if cm == nil {
		return false
	}
	data, _, err := documentIn(cm)
	if err != nil {
		return true
	}
	cfg, err := l.Load(data)
	return err != nil || !l.sameAsEmpty(cfg)
}

func problemsOf(err error, path *field.Path) field.ErrorList {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return invalid.Below(path)
	}
	return field.ErrorList{field.InternalError(path, err)}
}

// refused passes an API error on with its code, reason and fields.
func refused(err error) admission.Response {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	result := status.Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &result}}
}
