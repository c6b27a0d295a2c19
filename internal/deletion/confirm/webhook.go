// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// patience is how long a look may take. It is less than the API server waits, so
// that users see what took too long.
const patience = 8 * time.Second

// Settings are what the configuration says.
type Settings struct {
	Mode     configv1alpha1.Mode
	OnOutage configv1alpha1.OutageRule
	Rules    policy.Rules
	Scope    scope.Scope
}

// Options of a Handler.
type Options struct {
	// Name of the webhook.
	Name        string
	Kinds       func() *inventory.Snapshot
	Metadata    metadata.Interface
	Client      kubernetes.Interface
	Protections *selection.Set
	// Ready says whether all protections are known.
	Ready    func() bool
	Settings func() Settings
	// Observer tells what mode Enforce would refuse; nil for nobody.
	Observer *admission.Observer
}

// Handler answers the webhook.
type Handler struct {
	o     Options
	bound bound
}

// NewHandler makes a Handler.
func NewHandler(o Options) *Handler { return &Handler{o: o, bound: newBound(processLists)} }

// Handle implements admission.Handler.
func (h *Handler) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	start := time.Now()
	response := h.handle(ctx, req)
	outcome := "allowed"
	if !response.Allowed {
		outcome = "refused"
	}
	duration.WithLabelValues(req.Resource.Resource, outcome).Observe(time.Since(start).Seconds())
	return response
}

func (h *Handler) handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	if req.Operation != admissionv1.Delete || req.SubResource != "" {
		return ctrladmission.Allowed("")
	}
	kinds := h.o.Kinds()
	s := h.o.Settings()
	if kinds == nil || !h.o.Ready() {
		return h.starting(s)
	}
	o := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(req.OldObject.Raw, o); err != nil {
		return admission.Refusal(h.o.Name, configv1alpha1.ModeEnforce, metav1.Status{
			Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: "decode oldObject: " + err.Error(),
		})
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	target := policy.Target(schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}, o)
	v := h.decide(ctx, req, o, kinds, s)
	if v.refusal == "" {
		return ctrladmission.Allowed("").WithWarnings(v.warnings...)
	}
	log.FromContext(ctx).Info("Found a reason against a deletion", "target", target, "mode", s.Mode, "user", req.UserInfo.Username, "reason", v.refusal)
	message := target + " is not deleted" + v.refusal
	h.o.Observer.Tell(s.Mode, &req.AdmissionRequest, message)
	response := admission.Refusal(h.o.Name, s.Mode, metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message})
	switch s.Mode {
	case configv1alpha1.ModeAudit:
		return response // the client sees nothing
	case configv1alpha1.ModeEnforce:
		maps.Copy(response.AuditAnnotations, v.audit()) // who counts denials goes by it
	}
	response.Warnings = append(slices.Clone(v.warnings), response.Warnings...)
	return response
}

// starting refuses while this replica cannot know. The code makes that plain to
// machines; there is no Retry-After, because clients would hammer.
func (h *Handler) starting(s Settings) ctrladmission.Response {
	const message = "Holdfast is starting and cannot say yet what hangs below"
	if s.Mode != configv1alpha1.ModeEnforce || s.OnOutage == configv1alpha1.OutageAllows {
		return ctrladmission.Allowed("").WithWarnings(message)
	}
	return admission.Refusal(h.o.Name, s.Mode, metav1.Status{
		Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: message + "; try again in a few seconds",
	})
}

// verdict is what speaks against a deletion.
type verdict struct {
	// refusal is the rest of a sentence; "" if nothing speaks against it.
	refusal string
	// by are the protections that say so themselves, and not what hangs below.
	by       []*selection.Protection
	warnings []string
}

// audit names the protections, as the policies do.
func (v verdict) audit() map[string]string {
	if len(v.by) == 0 {
		return nil
	}
	value := selection.Value(v.by)
	if len(v.by) > 1 {
		value += ": " + selection.Detail(v.by)
	}
	return map[string]string{policy.AuditProtection: value}
}

func (h *Handler) decide(ctx context.Context, req ctrladmission.Request, o *metav1.PartialObjectMetadata, kinds *inventory.Snapshot, s Settings) verdict {
	look := Look{Kinds: kinds, Labels: s.Rules.Labels(), Protections: h.o.Protections, Namespaces: newNamespaces(h.o.Metadata), Scope: s.Scope, Bound: h.bound}
	var use func() (string, error)
	var result Result
	contentsFree := v1alpha1.MarkOf(o, v1alpha1.OverrideContentsMark) != ""
	if req.Resource.Resource == "namespaces" {
		use = func() (string, error) { return namespaceUse(ctx, h.o.Client, h.bound, o.Name) }
		if !contentsFree {
			result = look.Namespace(ctx, h.o.Metadata, h.o.Client.CoreV1().PersistentVolumes(), o.Name)
		}
	} else {
		kind, err := definedBy(req.OldObject.Raw)
		if err != nil {
			return verdict{refusal: ", because " + err.Error() + unchecked(o)}
		}
		if kind.Resource.Version == "" {
			return verdict{refusal: ", because none of its versions is served and its objects cannot be listed" + unchecked(o)}
		}
		use = func() (string, error) { return crdUse(ctx, h.o.Metadata, h.bound, kind) }
		if !contentsFree {
			result = look.Instances(ctx, h.o.Metadata, kind)
		}
	}
	if refusal := describe(o, result); refusal != "" {
		return verdict{refusal: refusal, warnings: leftOut(result)}
	}
	if what, by := whileUsed(req, o, s.Rules, h.o.Protections); what != "" && v1alpha1.MarkOf(o, v1alpha1.OverrideMark) == "" {
		used, err := use()
		if err != nil {
			return verdict{refusal: fmt.Sprintf(", because Holdfast cannot tell whether it is in use (%s). %s protects it until then%s", err, what, unchecked(o)), by: by}
		}
		if used != "" {
			return verdict{refusal: fmt.Sprintf(" while it is in use: %s. %s protects it until then", used, what), by: by}
		}
	}
	return verdict{warnings: leftOut(result)}
}

// whileUsed names what protects the object for as long as it is in use, and all
// protections that do.
func whileUsed(req ctrladmission.Request, o *metav1.PartialObjectMetadata, rules policy.Rules, protections *selection.Set) (what string, by []*selection.Protection) {
	for _, p := range protections.Match(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}, o, o.Labels) {
		if p.Mode == v1alpha1.ModeCascading {
			by = append(by, p)
		}
	}
	resource := schema.GroupResource{Group: req.Resource.Group, Resource: req.Resource.Resource}
	for _, k := range rules.Labels() {
		if k.WhileUsed(resource, o.Labels[k.Label]) {
			return "The label " + k.Label, by
		}
	}
	if len(by) > 0 {
		what = "ResourceDeletionProtection " + selection.Detail(by[:1])
	}
	return what, by
}
