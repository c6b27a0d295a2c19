// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/review"
)

const (
	// Path is that of the Strimzi Drain Cleaner.
	Path = "/drainer"
	// webhookTimeout is what the API server is told to wait, as upstream.
	webhookTimeout = 5 * time.Second
	// margin is left of the API server's time for the answer to arrive.
	margin = 250 * time.Millisecond
)

// handler answers the webhook. It fails open: where it cannot judge it answers
// with an error of HTTP, which the API server passes over, unless the
// configuration says Refuse. Users then see their pods go as if there were no
// guard; disruption budgets still hold.
type handler struct{ judge *judge }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body) // the server has bounded it
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r, err := review.Decode(body)
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, review.ErrNoRequest) {
			status = http.StatusInternalServerError // as the Drain Cleaner
		}
		http.Error(w, err.Error(), status)
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), patience(req.URL.Query().Get("timeout")))
	defer cancel()
	answer, err := h.judge.answer(ctx, r)
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, errNotReady) {
			status = http.StatusServiceUnavailable
		}
		http.Error(w, err.Error(), status)
		return
	}
	text, err := review.Encode(r.UID, answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(text); err != nil {
		ctrl.Log.WithName("eviction").Info("The API server did not wait for the answer", "uid", r.UID, "error", err.Error())
	}
}

// patience is how long the API server waits, which it says in the query of its
// call, less what the answer needs.
func patience(timeout string) time.Duration {
	t, err := time.ParseDuration(timeout)
	if err != nil || t <= 0 {
		t = webhookTimeout
	}
	return max(t-margin, t/2)
}

// answerTo puts a verdict into an answer. Below mode Enforce a refusal is only
// told, and so is what policies on trial would have said.
func answerTo(v policy.Verdict) review.Answer {
	out := review.Answer{Allowed: true}
	if v.Warning != "" {
		out.Warnings = append(out.Warnings, v.Warning)
	}
	if !v.Allowed && v.Enforced() {
		out = review.Answer{Code: v.Code, Reason: v.Reason, Message: v.Message}
	}
	var audit []string
	for _, told := range refusing(v) {
		audit = append(audit, told.Message)
		if told.Mode == configv1alpha1.ModeWarn {
			out.Warnings = append(out.Warnings, told.Message)
		}
	}
	out.Audit = strings.Join(audit, "; ")
	return out
}

// unjudged is the answer where the configuration refuses what cannot be judged.
func unjudged(err error) review.Answer {
	message := "Holdfast cannot judge this eviction now: " + err.Error()
	return review.Answer{Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: message, Audit: message}
}
