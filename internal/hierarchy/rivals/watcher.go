// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// lookTimeout bounds one look.
const lookTimeout = 30 * time.Second

// Options of a Watcher.
type Options struct {
	Client kubernetes.Interface
	// Needed says whether trees are kept or followed at all; while they are not,
	// nobody is asked. It must be safe for concurrent use.
	Needed func() bool
	// Changed is called when Holdfast is alone now or is not any more, and when what
	// it says of that is another.
	Changed func()
	Pauses  timing.Pauses
}

// Watcher looks for rivals from time to time. Every replica has one, since every
// replica answers webhooks.
type Watcher struct {
	o    Options
	wake chan struct{}
	last atomic.Pointer[Verdict]
}

// NewWatcher makes a Watcher, which knows nothing yet.
func NewWatcher(o Options) *Watcher {
	w := &Watcher{o: o, wake: make(chan struct{}, 1)}
	w.last.Store(&Verdict{})
	return w
}

// Alone says whether Holdfast may write and refuse: not before the first look.
func (w *Watcher) Alone() bool { return w.last.Load().Alone() }

// Looked says whether there was a first look.
func (w *Watcher) Looked() bool { return w.last.Load().state != notKnown }

// Verdict is the last one.
func (w *Watcher) Verdict() Verdict { return *w.last.Load() }

// Conditions of Holdfast; none while trees are not followed.
func (w *Watcher) Conditions() []metav1.Condition {
	if !w.o.Needed() {
		return nil
	}
	return []metav1.Condition{w.Verdict().Condition()}
}

// Wake asks for another look. It never blocks.
func (w *Watcher) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// NeedLeaderElection is false: every replica has its own.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start looks until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	for {
		every := w.o.Pauses.RivalsAlone
		if w.o.Needed() {
			w.look(ctx)
			if w.Verdict().state != alone {
				every = w.o.Pauses.RivalsOther
			}
		} else {
			w.set(Verdict{}) // what was true then need not be when it is asked next
		}
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-w.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look keeps what it knew when it cannot look: where the API server does not
// answer, nothing can be written either.
func (w *Watcher) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	facts, err := Look(ctx, w.o.Client)
	switch {
	case err == nil:
		w.set(Judge(facts))
	case w.Verdict().state == notKnown:
		w.set(unknown(err))
	default:
		ctrl.Log.WithName("hierarchy").Info("Holdfast cannot look for HNC", "error", err.Error())
	}
}

func (w *Watcher) set(v Verdict) {
	if before := w.last.Swap(&v); *before == v {
		return
	}
	if v.why != "" {
		ctrl.Log.WithName("hierarchy").Info("Looked for HNC", "found", v.why)
	}
	w.o.Changed()
}
