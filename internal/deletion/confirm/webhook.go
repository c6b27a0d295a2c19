// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// User is Holdfast's own name.
	User string
}

// Handler answers the webhook.
type Handler struct {
	o     Options
	bound bound
	// all serves the requests of users, and own the dry runs that Holdfast sends for a review of an anchor: the many
	// subnamespaces of one tenant do not delay the deletions of others.
	all, own looks
}

type looks struct {
	below *shared[Result]
	uses  *shared[inUse]
}

func (h *Handler) looksFor(user string) looks {
	if user == h.o.User {
		return h.own
	}
	return h.all
}

func newLooks() looks {
	slots := semaphore.NewWeighted(processLooks)
	return looks{below: newShared[Result](slots), uses: newShared[inUse](slots)}
}

var (
	namespaces  = corev1.SchemeGroupVersion.WithResource("namespaces")
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// NewHandler makes a Handler.
func NewHandler(o Options) *Handler {
	return &Handler{o: o, bound: newBound(processLists), all: newLooks(), own: newLooks()}
}

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
	s := h.o.Settings()
	if h.o.Kinds() == nil || !h.o.Ready() {
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
	stale, err := h.stale(ctx, req, o)
	if stale != "" {
		return admission.Refusal(h.o.Name, s.Mode, metav1.Status{
			Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: target + " is not deleted" + stale,
		})
	}
	v := verdict{}
	if err != nil {
		v.refusal = ", because it could not be looked at: " + err.Error() + unchecked(o)
	} else {
		v = h.decide(ctx, req, o, s)
	}
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

// subject is what a review is about: how to look below it and whether it is in use. Both are the same for all reviews
// with the same key, whatever else they say.
type subject struct {
	key   string
	below func(context.Context, Look) Result
	used  func(context.Context) (string, error)
}

func (h *Handler) subjectOf(req ctrladmission.Request, o *metav1.PartialObjectMetadata) (subject, error) {
	if req.Resource.Resource == namespaces.Resource {
		return subject{
			key: "namespace " + o.Name,
			below: func(ctx context.Context, l Look) Result {
				return l.Namespace(ctx, h.o.Metadata, h.o.Client.CoreV1().PersistentVolumes(), o.Name)
			},
			used: func(ctx context.Context) (string, error) { return namespaceUse(ctx, h.o.Client, h.bound, o.Name) },
		}, nil
	}
	kind, err := definedBy(o.Name, req.OldObject.Raw)
	if err != nil {
		return subject{}, err
	}
	if kind.Resource.Version == "" {
		return subject{}, errors.New("none of its versions is served and its objects cannot be listed")
	}
	return subject{
		// A review may be forged, and shares no look with one that says otherwise.
		key:   fmt.Sprintf("definition %s of %s namespaced %t", kind.Resource, kind.Kind, kind.Namespaced),
		below: func(ctx context.Context, l Look) Result { return l.Instances(ctx, h.o.Metadata, kind) },
		used:  func(ctx context.Context) (string, error) { return crdUse(ctx, h.o.Metadata, h.bound, kind) },
	}, nil
}

// look returns a Look with the settings that are in force when it begins.
func (h *Handler) look() Look {
	s := h.o.Settings()
	return Look{
		Kinds: h.o.Kinds(), Labels: s.Rules.Labels(), Protections: h.o.Protections, Namespaces: newNamespaceLabels(h.o.Metadata), Scope: s.Scope, Bound: h.bound,
	}
}

// inUse is what shows that an object is in use.
type inUse struct {
	what string
	err  error
}

func (h *Handler) decide(ctx context.Context, req ctrladmission.Request, o *metav1.PartialObjectMetadata, s Settings) verdict {
	about, err := h.subjectOf(req, o)
	if err != nil {
		return verdict{refusal: ", because " + err.Error() + unchecked(o)}
	}
	looks := h.looksFor(req.UserInfo.Username)
	var result Result
	if v1alpha1.MarkOf(o, v1alpha1.OverrideContentsMark) == "" {
		result, err = looks.below.do(ctx, about.key, func(ctx context.Context) Result { return about.below(ctx, h.look()) })
	}
	if err != nil {
		return verdict{refusal: ", because what hangs below it could not be looked at in time: " + err.Error() + unchecked(o)}
	}
	if refusal := describe(o, result); refusal != "" {
		return verdict{refusal: refusal, warnings: leftOut(result)}
	}
	if what, by := whileUsed(req, o, s.Rules, h.o.Protections); what != "" && v1alpha1.MarkOf(o, v1alpha1.OverrideMark) == "" {
		use, err := looks.uses.do(ctx, about.key, func(ctx context.Context) inUse {
			what, err := about.used(ctx)
			return inUse{what, err}
		})
		if err = cmp.Or(err, use.err); err != nil {
			return verdict{refusal: fmt.Sprintf(", because Holdfast cannot tell whether it is in use (%s). %s protects it until then%s", err, what, unchecked(o)), by: by}
		}
		if use.what != "" {
			return verdict{refusal: fmt.Sprintf(" while it is in use: %s. %s protects it until then", use.what, what), by: by}
		}
	}
	return verdict{warnings: leftOut(result)}
}

// stale is why a review is about no object that stands. The port may be open to others than the API server, and what hangs
// below an object is for who knows its UID, who may read the object. An API server that asks about an object which is
// gone, or another by now, has not the last word either: it deletes only the object that it has asked about.
func (h *Handler) stale(ctx context.Context, req ctrladmission.Request, o *metav1.PartialObjectMetadata) (string, error) {
	resource := namespaces
	if req.Resource.Resource != namespaces.Resource {
		resource = definitions
	}
	live, err := listed(ctx, h.bound, func() (*metav1.PartialObjectMetadata, error) {
		return h.o.Metadata.Resource(resource).Get(ctx, o.Name, metav1.GetOptions{})
	})
	switch {
	case apierrors.IsNotFound(err), err == nil && live.UID != o.UID:
		return fmt.Sprintf(" because there is none with the UID %q now", o.UID), nil
	case err != nil:
		return "", fmt.Errorf("get %s %s: %w", resource.Resource, o.Name, err)
	}
	return "", nil
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
