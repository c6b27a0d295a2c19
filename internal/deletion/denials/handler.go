// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package denials counts what each ResourceDeletionProtection refuses. Policies
// refuse inside the API server, so the only one to tell is the API server's audit:
// where it is set up to, it posts its events here, after the fact and off the path
// of every request.
package denials

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/platform/tally"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const (
	// Path that an API server posts to.
	Path = "/audit"

	fieldManager = "holdfast-denials"
	// remembered is how many refusals are known again: an API server that does not
	// hear the answer posts the same events again.
	remembered = 4096
)

// Options of a Handler.
type Options struct {
	// Live reads past the cache, Client from it.
	Live   client.Reader
	Client client.Client
	// Reviews asks who may post.
	Reviews     kubernetes.Interface
	Protections *selection.Set
	// Ready says whether all protections are known.
	Ready   func() bool
	Mode    func() configv1alpha1.Mode
	Sources Sources
	Pauses  timing.Pauses
}

// Handler receives audit events.
type Handler struct {
	o     Options
	gate  *gate
	tally *tally.Tally[v1alpha1.Denials]
	seen  *lru.Cache
}

// NewHandler makes a Handler.
func NewHandler(o Options) *Handler {
	h := &Handler{o: o, gate: newGate(o.Reviews), seen: lru.New(remembered)}
	h.tally = tally.New(add, h.write, o.Pauses)
	return h
}

// SetupWithManager serves the Handler, and writes what it counts, on every replica.
func (h *Handler) SetupWithManager(mgr ctrl.Manager) error {
	mgr.GetWebhookServer().Register(Path, h)
	return mgr.Add(h.tally)
}

// MaxBody is the size of the largest batch: an API server that truncates puts 10 MiB into one if nothing else is said.
func (h *Handler) MaxBody() int64 { return 16 << 20 }

// Admit reports whether a client may post. It is asked before what the client sends is received.
func (h *Handler) Admit(w http.ResponseWriter, r *http.Request) bool {
	code, err := http.StatusServiceUnavailable, error(nil)
	switch {
	case h.o.Mode() == configv1alpha1.ModeOff:
		code = http.StatusOK // nothing is refused, and there is nothing to try again
	case h.o.Ready():
		if code, err = h.gate.check(r.Context(), r); code == http.StatusOK {
			return true
		}
	}
	w.Header().Set("Connection", "close") // or the events would have to be received
	answer(w, code, err)
	return false
}

// ServeHTTP answers with 200 when the events are counted. After anything else the
// API server tries again, a few times.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, err := h.receive(r)
	answer(w, code, err)
}

// answer answers, and logs what is wrong and nobody's fault but the API server's.
func answer(w http.ResponseWriter, code int, err error) {
	if err != nil {
		ctrl.Log.WithName("deletion.denials").Info("Audit events were not counted", "code", code, "error", err.Error())
	}
	w.WriteHeader(code)
}

func (h *Handler) receive(r *http.Request) (code int, err error) {
	list, err := decode(r.Body)
	if err != nil {
		return http.StatusBadRequest, err
	}
	if err := h.begin(r.Context()); err != nil {
		return http.StatusServiceUnavailable, err
	}
	h.count(list)
	return http.StatusOK, nil
}

func (h *Handler) count(list *auditv1.EventList) {
	for i := range list.Items {
		e := &list.Items[i]
		names, refused := h.o.Sources.Refused(e, h.known)
		if !refused || h.again(e) {
			continue
		}
		total.WithLabelValues().Inc()
		for _, name := range names {
			h.tally.Add(name, v1alpha1.Denials{Count: 1, Last: new(metav1.NewTime(e.StageTimestamp.Time))})
		}
	}
}

func (h *Handler) known(name string) (string, bool) {
	p := h.o.Protections.Get(name)
	if p == nil {
		return "", false
	}
	return marks.Detail(selection.Detail([]*selection.Protection{p})), true
}

// again says whether an event has been counted. The times are asked for too,
// because clients may choose the ID.
func (h *Handler) again(e *auditv1.Event) bool {
	key := fmt.Sprint(e.AuditID, e.RequestReceivedTimestamp.UnixNano(), e.StageTimestamp.UnixNano())
	_, seen := h.seen.Get(key)
	h.seen.Add(key, nil)
	return seen
}

// begin has the status of each protection say that none has been refused, where it
// does not say anything yet: from now on that is known.
func (h *Handler) begin(ctx context.Context) error {
	var all v1alpha1.ResourceDeletionProtectionList
	if err := h.o.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list protections: %w", err)
	}
	for i := range all.Items {
		if all.Items[i].Status.Denials == nil {
			h.tally.Add(all.Items[i].Name, v1alpha1.Denials{})
		}
	}
	return nil
}

// write adds denials to the status of a protection.
func (h *Handler) write(ctx context.Context, name string, more v1alpha1.Denials) error {
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p := &v1alpha1.ResourceDeletionProtection{}
		if err := h.o.Live.Get(ctx, client.ObjectKey{Name: name}, p); err != nil {
			return err
		}
		switch {
		case p.Status.Denials == nil:
			p.Status.Denials = &v1alpha1.Denials{}
		case more.Count == 0:
			return nil
		}
		add(p.Status.Denials, more)
		return h.o.Client.Status().Update(ctx, p, client.FieldOwner(fieldManager))
	}))
}
