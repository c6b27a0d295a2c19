// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// watch follows the metadata of pods or of another resource, of those with a label
// or of all, wherever the scope says so.
type watch struct {
	// resource is that of pods where it is empty.
	resource schema.GroupVersionResource
	label    string
	// wanted says whether there is anything to follow now.
	wanted func(context.Context, settings) bool
	// leaderOnly says that only the leader follows.
	leaderOnly bool
	settings   func() settings
	handler    inventory.Handler
	watches    *inventory.Watches
	pauses     timing.Pauses
	wake       chan struct{}
	// stop has sources that failed for good.
	stop    chan inventory.Source
	running map[inventory.Source]bool
}

func newWatch(c metadata.Interface, w watch) *watch {
	if w.resource.Empty() {
		w.resource = podResource
	}
	w.wake, w.stop = make(chan struct{}, 1), make(chan inventory.Source, 1)
	w.running = map[inventory.Source]bool{}
	out := &w
	out.watches = inventory.NewWatches(c, out)
	out.watches.Keep = func(annotation string) bool { return annotation != corev1.LastAppliedConfigAnnotation }
	return out
}

// NeedLeaderElection says where the watch runs.
func (w *watch) NeedLeaderElection() bool { return w.leaderOnly }

// Wake asks for another look at what to follow. It never blocks.
func (w *watch) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Start follows until the context ends.
func (w *watch) Start(ctx context.Context) error {
	defer w.watches.Wait()
	ticker := time.NewTicker(w.pauses.ForbiddenWatch)
	defer ticker.Stop()
	for {
		w.align(ctx)
		select {
		case <-ctx.Done():
			return nil
		case s := <-w.stop:
			w.watches.Stop(s)
			w.running[s] = false // known, and left alone
		case <-w.wake:
		case <-ticker.C:
			w.forget()
		}
	}
}

// forget lets what failed be tried again.
func (w *watch) forget() {
	for s, runs := range w.running {
		if !runs {
			delete(w.running, s)
		}
	}
}

// align starts and stops watches.
func (w *watch) align(ctx context.Context) {
	s := w.settings()
	wanted := map[inventory.Source]bool{}
	if s.config.Mode != configv1alpha1.ModeOff && w.wanted(ctx, s) {
		for _, source := range w.sources(s) {
			wanted[source] = true
		}
	}
	for source, runs := range w.running {
		if !wanted[source] {
			if runs {
				w.watches.Stop(source)
			}
			delete(w.running, source)
		}
	}
	for source := range wanted {
		if _, known := w.running[source]; known {
			continue
		}
		w.watches.Start(ctx, source)
		w.running[source] = true
	}
}

// sources are one for each namespace where the scope lists them, and one for all
// otherwise.
func (w *watch) sources(s settings) []inventory.Source {
	names, finite := s.scope.Names()
	if !finite {
		return []inventory.Source{{Resource: w.resource, Label: w.label}}
	}
	out := make([]inventory.Source, 0, len(names))
	for _, ns := range names {
		out = append(out, inventory.Source{Resource: w.resource, Label: w.label, Namespace: ns})
	}
	return out
}

// get returns the metadata of a pod if it is known.
func (w *watch) get(namespace, name string) (*metav1.ObjectMeta, bool) {
	for _, ns := range []string{metav1.NamespaceAll, namespace} {
		if o := w.watches.Object(inventory.Source{Resource: w.resource, Label: w.label, Namespace: ns}, namespace, name); o != nil {
			return &o.ObjectMeta, true
		}
	}
	return nil, false
}

// Seen implements inventory.Handler.
func (w *watch) Seen(s inventory.Source, o *metav1.PartialObjectMetadata) { w.handler.Seen(s, o) }

// Gone implements inventory.Handler.
func (w *watch) Gone(s inventory.Source, o *metav1.PartialObjectMetadata) { w.handler.Gone(s, o) }

// Synced implements inventory.Handler.
func (w *watch) Synced(s inventory.Source) { w.handler.Synced(s) }

// Failed implements inventory.Handler. What is forbidden is left alone for a
// while, as each try is one more refusal in the audit log.
func (w *watch) Failed(s inventory.Source, err error) {
	ctrl.Log.WithName("eviction").Info("Objects cannot be watched", "resource", s.Resource.Resource, "namespace", s.Namespace, "label", s.Label, "error", err.Error())
	if apierrors.IsForbidden(err) {
		select {
		case w.stop <- s:
		default:
		}
	}
	w.handler.Failed(s, err)
}

// nothing is for a watch that is only read.
type nothing struct{}

func (nothing) Seen(inventory.Source, *metav1.PartialObjectMetadata) {}
func (nothing) Gone(inventory.Source, *metav1.PartialObjectMetadata) {}
func (nothing) Synced(inventory.Source)                              {}
func (nothing) Failed(inventory.Source, error)                       {}
