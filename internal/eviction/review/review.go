// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review reads what API servers ask about evictions and writes the
// answers, in the form that the Strimzi Drain Cleaner has given them.
package review

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// Review is a question about an eviction.
type Review struct {
	// UID of the question, which the answer repeats.
	UID types.UID
	// Eviction says that the object is one; if not, the request is empty.
	Eviction bool
	// Request is the eviction. Its namespace and name can be empty.
	Request policy.Request
	// Borrowed says that the Eviction has no namespace of its own, and that of the
	// question stands in.
	Borrowed bool
}

// ErrNoRequest is that an AdmissionReview asks nothing.
var ErrNoRequest = errors.New("the AdmissionReview has no request")

// eviction has the fields of an Eviction that count, in each of its versions.
type eviction struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	DeleteOptions struct {
		DryRun        []string `json:"dryRun"`
		Preconditions struct {
			UID types.UID `json:"uid"`
		} `json:"preconditions"`
	} `json:"deleteOptions"`
}

// Decode reads an AdmissionReview, of v1 or v1beta1. The dry run of a client that
// leaves the field out is none, unless the Eviction says so itself: API servers
// then make a dry run of it after they have asked for one that is none, as in
// kubectl drain --dry-run=server.
func Decode(body []byte) (Review, error) {
	var in admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &in); err != nil {
		return Review{}, fmt.Errorf("decode AdmissionReview: %w", err)
	}
	if in.Request == nil {
		return Review{}, ErrNoRequest
	}
	out := Review{UID: in.Request.UID}
	raw := in.Request.Object.Raw
	if len(raw) == 0 {
		return out, nil
	}
	// The kind first: what the fields of another are is not for us to judge.
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return Review{}, fmt.Errorf("decode the kind of the object: %w", err)
	}
	if kind.Kind != "Eviction" || kind.APIVersion != "policy/v1" && kind.APIVersion != "policy/v1beta1" {
		return out, nil
	}
	var e eviction
	if err := json.Unmarshal(raw, &e); err != nil {
		return Review{}, fmt.Errorf("decode the Eviction: %w", err)
	}
	out.Eviction = true
	out.Request = policy.Request{
		Namespace: e.Metadata.Namespace, Name: e.Metadata.Name, UID: e.DeleteOptions.Preconditions.UID,
		DryRun: in.Request.DryRun != nil && *in.Request.DryRun || len(e.DeleteOptions.DryRun) > 0,
		User:   in.Request.UserInfo.Username, Groups: in.Request.UserInfo.Groups,
	}
	if out.Request.Namespace == "" {
		out.Request.Namespace, out.Borrowed = in.Request.Namespace, true
	}
	return out, nil
}

// Answer is what an API server is told.
type Answer struct {
	Allowed bool
	// Code, Reason and Message of a refusal; an empty Reason is left out.
	Code    int32
	Reason  metav1.StatusReason
	Message string
	// Warnings for whoever asks.
	Warnings []string
	// Audit is for the API server's audit log; empty for none.
	Audit string
}

// auditKey is the key of an audit annotation, below the webhook's name.
const auditKey = "refusal"

// Encode writes an answer, in v1 whatever the version of the question: the parts
// that are used are the same.
func Encode(uid types.UID, a Answer) ([]byte, error) {
	response := &admissionv1.AdmissionResponse{UID: uid, Allowed: a.Allowed, Warnings: a.Warnings}
	if !a.Allowed {
		response.Result = &metav1.Status{Code: a.Code, Reason: a.Reason, Message: a.Message}
	}
	if a.Audit != "" {
		response.AuditAnnotations = map[string]string{auditKey: a.Audit}
	}
	out := &admissionv1.AdmissionReview{Response: response}
	out.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode AdmissionReview: %w", err)
	}
	return text, nil
}
