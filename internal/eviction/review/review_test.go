// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

func TestDecode(t *testing.T) {
	const before, after = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","namespace":"asked","name":"ignored",`, `}}`
	eviction := func(r policy.Request) Review {
		return Review{UID: "u", Eviction: true, Request: r}
	}
	for _, tt := range []struct {
		name, body string
		want       Review
		wantErr    string
	}{
		{name: "an Eviction of policy/v1", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n"}}`, want: eviction(policy.Request{Namespace: "n", Name: "p"})},
		{name: "an Eviction of policy/v1beta1", body: `"object":{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p","namespace":"n"}}`, want: eviction(policy.Request{Namespace: "n", Name: "p"})},
		{
			name: "all that counts", body: `"dryRun":true,"userInfo":{"username":"a","groups":["g","h"]},"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n","labels":{"a":"b"}},"deleteOptions":{"gracePeriodSeconds":5,"preconditions":{"uid":"x","resourceVersion":"7"}}}`,
			want: eviction(policy.Request{Namespace: "n", Name: "p", UID: "x", DryRun: true, User: "a", Groups: []string{"g", "h"}}),
		},
		{
			name: "no namespace but that of the request", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`,
			want: Review{UID: "u", Eviction: true, Borrowed: true, Request: policy.Request{Namespace: "asked", Name: "p"}},
		},
		{
			name: "the name of the request does not stand in", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"namespace":"n"}}`,
			want: eviction(policy.Request{Namespace: "n"}),
		},
		{
			name: "no metadata at all", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction"}`,
			want: Review{UID: "u", Eviction: true, Borrowed: true, Request: policy.Request{Namespace: "asked"}},
		},
		{name: "a dry run that is null is none", body: `"dryRun":null,"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n"}}`, want: eviction(policy.Request{Namespace: "n", Name: "p"})},
		{
			name: "a dry run in the options of the Eviction is one", body: `"dryRun":false,"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n"},"deleteOptions":{"dryRun":["All"]}}`,
			want: eviction(policy.Request{Namespace: "n", Name: "p", DryRun: true}),
		},
		{name: "options that are null", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n"},"deleteOptions":null}`, want: eviction(policy.Request{Namespace: "n", Name: "p"})},
		{name: "preconditions that are null", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n"},"deleteOptions":{"preconditions":null}}`, want: eviction(policy.Request{Namespace: "n", Name: "p"})},
		{name: "a UID that is null", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"n"},"deleteOptions":{"preconditions":{"uid":null}}}`, want: eviction(policy.Request{Namespace: "n", Name: "p"})},
		{name: "another kind", body: `"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`, want: Review{UID: "u"}},
		{name: "another kind of the group", body: `"object":{"apiVersion":"policy/v1","kind":"PodDisruptionBudget"}`, want: Review{UID: "u"}},
		{name: "an Eviction of another group", body: `"object":{"apiVersion":"lifecycle.k8s.io/v1alpha1","kind":"Eviction"}`, want: Review{UID: "u"}},
		{name: "another kind with fields of other types", body: `"object":{"apiVersion":"v1","kind":"Pod","metadata":"x","deleteOptions":[]}`, want: Review{UID: "u"}},
		{name: "an object without a kind", body: `"object":{}`, want: Review{UID: "u"}},
		{name: "an object that is null", body: `"object":null`, want: Review{UID: "u"}},
		{name: "no object", body: `"dryRun":false`, want: Review{UID: "u"}},
		{name: "keys count in their case alone", body: `"object":{"apiVersion":"policy/v1","Kind":"Eviction"}`, want: Review{UID: "u"}},
		{name: "an object that is none", body: `"object":"x"`, wantErr: "decode the kind of the object: "},
		{name: "an Eviction with a name that is no text", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":5}}`, wantErr: "decode the Eviction: "},
		{name: "an Eviction with options of another form", body: `"object":{"apiVersion":"policy/v1","kind":"Eviction","deleteOptions":"x"}`, wantErr: "decode the Eviction: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(before + tt.body + after))
			if tt.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.wantErr) {
					t.Errorf("got error %v, want %s", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecode_nothingThatAsks(t *testing.T) {
	for _, body := range []string{`null`, `{}`, `{"request":null}`, `{"Request":{"uid":"u"}}`, `{"response":{"uid":"u"}}`} {
		if _, err := Decode([]byte(body)); !errors.Is(err, ErrNoRequest) {
			t.Errorf("%s: got %v", body, err)
		}
	}
	for _, body := range []string{``, `{`, `[]`, `"x"`, `{"request":7}`, `{"request":{}} {}`, "\xff"} {
		if _, err := Decode([]byte(body)); err == nil || errors.Is(err, ErrNoRequest) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestEncode(t *testing.T) {
	const before, after = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":`, `}`
	for _, tt := range []struct {
		name   string
		answer Answer
		want   string
	}{
		{name: "an eviction that passes has no status", answer: Answer{Allowed: true}, want: `{"uid":"u","allowed":true}`},
		{
			name: "it has none although somebody set one", answer: Answer{Allowed: true, Code: 500, Reason: "R", Message: "m"},
			want: `{"uid":"u","allowed":true}`,
		},
		{
			name: "the refusal of the Drain Cleaner has no reason", answer: Answer{Code: 500, Message: policy.RollMessage},
			want: `{"uid":"u","allowed":false,"status":{"metadata":{},"message":"The pod will be rolled by the Strimzi Cluster Operator","code":500}}`,
		},
		{
			name: "the refusal of a policy has one", answer: Answer{Code: 429, Reason: metav1.StatusReasonTooManyRequests, Message: "m"},
			want: `{"uid":"u","allowed":false,"status":{"metadata":{},"message":"m","reason":"TooManyRequests","code":429}}`,
		},
		{
			name: "a warning and a word for the audit log", answer: Answer{Allowed: true, Warnings: []string{"w"}, Audit: "a"},
			want: `{"uid":"u","allowed":true,"auditAnnotations":{"refusal":"a"},"warnings":["w"]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Encode("u", tt.answer)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before+tt.want+after, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDecodeReview holds that nothing makes Decode panic, that what is no Eviction has an
// empty request, and that the answer repeats the UID of the question.
func FuzzDecodeReview(f *testing.F) {
	for _, seed := range []string{
		`{"request":{"uid":"u","namespace":"n","dryRun":true,"object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"dryRun":["All"],"preconditions":{"uid":"x"}}}}}`,
		`{"request":{"uid":"u","object":{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p","namespace":"n"}}}}`,
		`{"request":{"object":{"kind":"Pod"}}}`, `{"request":{"object":[]}}`, `{"request":null}`, `null`, ``, `{"request":{"object":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(body)
		if err != nil {
			if diff := cmp.Diff(Review{}, r); diff != "" {
				t.Errorf("beside an error (-want +got):\n%s", diff)
			}
			return
		}
		if diff := cmp.Diff(policy.Request{}, r.Request); diff != "" && !r.Eviction {
			t.Errorf("the request of what is no Eviction (-want +got):\n%s", diff)
		}
		text, err := Encode(r.UID, Answer{Code: 500, Message: "m"})
		if err != nil {
			t.Fatal(err)
		}
		var answer admissionv1.AdmissionReview
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Response == nil || answer.Response.UID != r.UID || answer.Request != nil {
			t.Errorf("%s answers %s", text, body)
		}
	})
}
