// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

func TestRefusal(t *testing.T) {
	t.Parallel()
	audited := map[string]string{AuditRefusal: "why"}
	tests := []struct {
		mode    configv1alpha1.Mode
		allowed bool
		warning string
	}{
		{mode: configv1alpha1.ModeEnforce},
		{mode: configv1alpha1.ModeWarn, allowed: true, warning: "why"},
		{mode: configv1alpha1.ModeAudit, allowed: true},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			got := Refusal("a", tt.mode, metav1.Status{Code: http.StatusConflict, Message: "why"})
			if got.Allowed != tt.allowed || strings.Join(got.Warnings, ";") != tt.warning || !tt.allowed && got.Result.Code != http.StatusConflict {
				t.Errorf("answered with %+v", got)
			}
			if diff := cmp.Diff(audited, got.AuditAnnotations); diff != "" {
				t.Errorf("audit annotations (-want +got)\n%s", diff)
			}
		})
	}
}

func TestRefusing_leavesWhatPassesAsItIs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]ctrladmission.Response{
		"allowed": ctrladmission.Allowed("").WithWarnings("w"),
		"refused": ctrladmission.Denied("why").WithWarnings("w"),
		"wrong":   ctrladmission.Errored(http.StatusBadRequest, http.ErrBodyNotAllowed),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Refusing("a", ctrladmission.HandlerFunc(func(context.Context, ctrladmission.Request) ctrladmission.Response { return want })).
				Handle(t.Context(), ctrladmission.Request{})
			if audited := got.AuditAnnotations[AuditRefusal]; audited != "" && want.Allowed || !want.Allowed && audited != want.Result.Message {
				t.Errorf("the audit log has %q", audited)
			}
			got.AuditAnnotations = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestObserver(t *testing.T) {
	t.Parallel()
	request := func(kind, namespace, name string) admissionv1.AdmissionRequest {
		return admissionv1.AdmissionRequest{Kind: metav1.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: namespace, Name: name}
	}
	dry := request("ConfigMap", "a", "b")
	dry.DryRun = new(true)
	tests := []struct {
		name string
		mode configv1alpha1.Mode
		req  admissionv1.AdmissionRequest
		many int
		want int
	}{
		{name: "what passes by mode Audit is told", mode: configv1alpha1.ModeAudit, req: request("ConfigMap", "a", "b"), many: 1, want: 1},
		{name: "who is warned sees it himself", mode: configv1alpha1.ModeWarn, req: request("ConfigMap", "a", "b"), many: 1},
		{name: "who is refused too", mode: configv1alpha1.ModeEnforce, req: request("ConfigMap", "a", "b"), many: 1},
		{name: "a dry run writes nothing", mode: configv1alpha1.ModeAudit, req: dry, many: 1},
		{name: "nothing is about what has no name yet", mode: configv1alpha1.ModeAudit, req: request("ConfigMap", "a", ""), many: 1},
		{name: "a flood is not told as a whole", mode: configv1alpha1.ModeAudit, req: request("ConfigMap", "a", "b"), many: 1000, want: burst},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recorder := events.NewFakeRecorder(1000)
			o := NewObserver(recorder)
			for range tt.many {
				o.Tell(tt.mode, &tt.req, "why")
			}
			// A slow machine lets a few more pass meanwhile.
			if got := len(recorder.Events); got < tt.want || got > 10*tt.want {
				t.Errorf("%d events, want %d", got, tt.want)
			}
		})
	}
	(*Observer)(nil).TellAbout(configv1alpha1.ModeAudit, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "ann", "why")
}

// about remembers what an Event is about.
type about struct{ got *metav1.PartialObjectMetadata }

func (a *about) Eventf(regarding, _ runtime.Object, _, _, _, _ string, _ ...any) {
	a.got = regarding.(*metav1.PartialObjectMetadata)
}

func TestObserver_isAboutTheObject(t *testing.T) {
	t.Parallel()
	a := &about{}
	NewObserver(a).Tell(configv1alpha1.ModeAudit, &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Namespace: "n", Name: "n",
		OldObject: runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"n","uid":"u"}}`)},
	}, "why")
	want := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	if diff := cmp.Diff(want, a.got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNote(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, why, want string }{
		{name: "in one line", why: "a\n  b", want: "mode Enforce would refuse this to ann: a b"},
		{name: "a long one is cut", why: strings.Repeat("é", 1000), want: "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := note("ann", tt.why); !strings.HasSuffix(got, tt.want) || len(got) > longestNote {
				t.Errorf("got %d bytes: %s", len(got), got)
			}
		})
	}
}
