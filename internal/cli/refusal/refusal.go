// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"errors"
	"net/http"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
)

// By is what kind of thing has refused.
type By string

const (
	// ByPolicy is a ValidatingAdmissionPolicy.
	ByPolicy By = "ValidatingAdmissionPolicy"
	// ByWebhook is a webhook that has looked at the request.
	ByWebhook By = "Webhook"
	// ByOutage is a webhook that did not answer.
	ByOutage By = "WebhookOutage"
	// ByRBAC is a right that is missing.
	ByRBAC By = "RBAC"
	// ByFields is another field manager, which owns what would be changed.
	ByFields By = "FieldManager"
	// ByAPIServer is the API server itself: the object is not valid, not there, or there
	// already.
	ByAPIServer By = "APIServer"
)

// Refusal says no.
type Refusal struct {
	By By `json:"by"`
	// Name of the policy or the webhook, and of the policy's binding.
	Name    string `json:"name,omitempty"`
	Binding string `json:"binding,omitempty"`
	// Feature of Holdfast that this is; empty if it is not Holdfast's.
	Feature string `json:"feature,omitempty"`
	// Code, Reason and Message are the answer, the message without what says who it is of.
	Code    int32               `json:"code,omitempty"`
	Reason  metav1.StatusReason `json:"reason,omitempty"`
	Message string              `json:"message"`
	// Right is what is missing.
	Right *Right `json:"right,omitempty"`
	// Because is the refusal of what would follow, if that is the reason.
	Because *Refusal `json:"because,omitempty"`
}

// Right is a verb of RBAC on a resource, as the API server names them.
type Right struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// The forms of the API server. What stands before them names the object.
var (
	policyForm  = regexp.MustCompile(`(?s)ValidatingAdmissionPolicy '([^']*)' with binding '([^']*)' denied request: (.*)$`)
	webhookForm = regexp.MustCompile(`(?s)admission webhook "([^"]*)" denied the request(?:: (.*)| without explanation)$`)
	outageForm  = regexp.MustCompile(`(?s)failed calling webhook "([^"]*)": (.*)$`)
	rightForm   = regexp.MustCompile(`User "[^"]*" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)"| at the cluster scope)`)
)

// Of takes apart what a request has failed with; nil if that is no answer of an API server.
func Of(err error) *Refusal {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	s := status.Status()
	r := read(s.Message)
	r.Code, r.Reason = s.Code, s.Reason
	if r.By == ByAPIServer && s.Code == http.StatusConflict && hasFieldConflict(s.Details) {
		r.By = ByFields
	}
	return r
}

func hasFieldConflict(d *metav1.StatusDetails) bool {
	if d == nil {
		return false
	}
	for _, c := range d.Causes {
		if c.Type == metav1.CauseTypeFieldManagerConflict {
			return true
		}
	}
	return false
}

// read takes a message apart. The one that comes first has refused: it can quote others.
func read(message string) *Refusal {
	first, at := &Refusal{By: ByAPIServer, Message: message}, len(message)
	for _, form := range []struct {
		*regexp.Regexp
		read func(m []string) *Refusal
	}{
		{policyForm, func(m []string) *Refusal { return &Refusal{By: ByPolicy, Name: m[1], Binding: m[2], Message: m[3]} }},
		{webhookForm, func(m []string) *Refusal { return &Refusal{By: ByWebhook, Name: m[1], Message: m[2]} }},
		{outageForm, func(m []string) *Refusal { return &Refusal{By: ByOutage, Name: m[1], Message: m[2]} }},
		{rightForm, func(m []string) *Refusal {
			return &Refusal{By: ByRBAC, Message: m[0], Right: &Right{Verb: m[1], Resource: m[2], Group: m[3], Namespace: m[4]}}
		}},
	} {
		if found := form.FindStringSubmatchIndex(message); found != nil && found[0] < at {
			first, at = form.read(form.FindStringSubmatch(message)), found[0]
		}
	}
	first.Feature = featureOf(first.By, first.Name)
	if first.Feature == featureHierarchy {
		if told := rules.Read(first.Message); told.Why != "" {
			first.Because = read(told.Why)
		}
	}
	return first
}

// Root is the refusal that the others follow from.
func (r *Refusal) Root() *Refusal {
	for r.Because != nil {
		r = r.Because
	}
	return r
}

// String says who has refused.
func (r *Refusal) String() string {
	switch r.By {
	case ByPolicy:
		return "the policy " + r.Name + r.ofWhom()
	case ByWebhook:
		return "the webhook " + r.Name + r.ofWhom()
	case ByOutage:
		return "the webhook " + r.Name + r.ofWhom() + ", which does not answer"
	case ByRBAC:
		return "RBAC"
	case ByFields:
		return "other field managers"
	}
	return "the API server"
}

func (r *Refusal) ofWhom() string {
	if r.Feature == "" {
		return ", which is not Holdfast's"
	}
	return " (Holdfast: " + r.Feature + ")"
}
