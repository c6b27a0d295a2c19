// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// back are the steps to HNC: those to Holdfast, turned round. HNC's webhooks come
// last, when it can answer, so that no write waits for it.
func (h *handover) back() []step {
	return []step{
		{"check", h.lookCheck, h.checkBack, true},
		{"stand-by", h.lookStandBy, h.standBy, false},
		{"scale", h.lookRunning, h.scaleUp, false},
		{"webhooks", h.lookRestored, h.restoreWebhooks, false},
	}
}

// checkBack looks whether there is a way back.
func (h *handover) checkBack(ctx context.Context) (string, error) {
	problems := append(h.checkHoldfast(ctx), h.checkOwnRights(ctx)...)
	r, err := h.recorded(ctx)
	if err != nil {
		return "", errors.Join(append(problems, err)...)
	}
	for _, want := range r.Replicas {
		if _, err := h.kube.AppsV1().Deployments(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{}); err != nil {
			problems = append(problems, fmt.Errorf("the Deployment %s, which HNC ran as: %w; install HNC again", want, err))
		}
	}
	if len(problems) > 0 {
		return "", errors.Join(problems...)
	}
	return "HNC can come back as it was", nil
}
