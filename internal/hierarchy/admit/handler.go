// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// margin is left of the API server's time for the answer to arrive.
const margin = 2 * time.Second

var (
	// errStarting is that nothing can be decided yet.
	errStarting = errors.New("the trees of namespaces are not known yet; try again in a few seconds")
	// errRequest is that the request cannot be read.
	errRequest = errors.New("decode the request")
)

// answer is what a judge says.
type answer struct {
	rules.Verdict
	// mutated is the object to write instead; nil for the one in the request.
	mutated *unstructured.Unstructured
	// warnings are sent to the user with a request that is allowed.
	warnings []string
}

// judge decides on the request of a webhook.
type judge func(context.Context, *Options, *admissionv1.AdmissionRequest) (answer, error)

// handler answers one webhook.
type handler struct {
	o     *Options
	name  string
	judge judge
	// open says that whatever cannot be decided may pass.
	open bool
	// blind says that the judge does not look at the trees.
	blind bool
	// creations reports that the judge decides on what Holdfast itself creates too: it creates service accounts for users
	// who may not.
	creations bool
}

// serve is the handler as the API server calls it. One that fails open answers with
// an error of HTTP while nothing is known, which the API server passes over: it would
// take any other answer for a refusal.
func (h *handler) serve() http.Handler {
	answers := &ctrladmission.Webhook{Handler: h, RecoverPanic: new(!h.open)} // what is recovered refuses
	if !h.open || h.blind {
		return answers
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := h.o.World(); err != nil {
			http.Error(w, "Holdfast is starting: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		answers.ServeHTTP(w, req)
	})
}

// Handle implements admission.Handler.
func (h *handler) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	start := time.Now()
	response := h.handle(ctx, &req.AdmissionRequest)
	outcome := "allowed"
	if !response.Allowed {
		outcome = "refused"
	}
	duration.WithLabelValues(h.name, outcome).Observe(time.Since(start).Seconds())
	return response
}

func (h *handler) handle(ctx context.Context, req *admissionv1.AdmissionRequest) ctrladmission.Response {
	mode := modeOf(h.o.Settings())
	own := slices.Contains(h.o.Users, req.UserInfo.Username) && !(h.creations && req.Operation == admissionv1.Create)
	if mode == configv1alpha1.ModeOff || req.SubResource != "" || own {
		return ctrladmission.Allowed("")
	}
	ctx, cancel := context.WithTimeout(ctx, h.o.Patience)
	defer cancel()
	a, err := h.judge(ctx, h.o, req)
	if err == nil && a.Denied == nil {
		a.Denied, err = ask(ctx, h.o, req, a.Verdict)
	}
	if err != nil {
		log.FromContext(ctx).Info("Cannot decide on a request", "webhook", h.name, "error", err.Error())
		if h.open {
			return ctrladmission.Allowed("")
		}
		a.Denied = undecided(err, ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded))
	}
	if a.Denied == nil {
		return patched(req, a)
	}
	log.FromContext(ctx).Info("Found a reason against a request", "webhook", h.name, "mode", mode, "user", req.UserInfo.Username,
		"operation", req.Operation, "namespace", req.Namespace, "name", req.Name, "code", a.Denied.Code, "reason", a.Denied.Message)
	h.o.Observer.Tell(mode, req, a.Denied.Message)
	return admission.Refusal(h.name, mode, metav1.Status{Code: a.Denied.Code, Reason: a.Denied.Reason, Message: a.Denied.Message})
}

// undecided is the refusal of what cannot be decided, or not in time. There is no
// Retry-After: clients would hammer.
func undecided(err error, late bool) *rules.Denial {
	switch {
	case late:
		return &rules.Denial{
			Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
			Message: "Holdfast could not decide on this in time, try again: " + err.Error(),
		}
	case errors.Is(err, errStarting):
		return &rules.Denial{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: err.Error()}
	case errors.Is(err, errRequest):
		return &rules.Denial{Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: err.Error()}
	}
	return &rules.Denial{
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "Holdfast cannot decide on this now: " + err.Error(),
	}
}

func patched(req *admissionv1.AdmissionRequest, a answer) ctrladmission.Response {
	response := ctrladmission.Allowed("")
	if a.mutated != nil {
		raw, err := json.Marshal(a.mutated.Object)
		if err != nil {
			return ctrladmission.Errored(http.StatusInternalServerError, err)
		}
		response = ctrladmission.PatchResponseFromRaw(req.Object.Raw, raw)
	}
	response.Warnings = a.warnings
	return response
}

// world is what is known, or errStarting.
func (o *Options) world() (rules.World, error) {
	w, err := o.World()
	if err != nil {
		return rules.World{}, fmt.Errorf("%w: %w", errStarting, err)
	}
	return w, nil
}

// decode reads an object, which may have fields that are not known.
func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%w: %w", errRequest, err)
	}
	return nil
}
