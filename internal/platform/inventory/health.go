// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
)

// health is whether a source can be watched now.
type health struct {
	failed func(error)
	works  func()
	// steady is how long a watch stays open to count as one that works.
	steady time.Duration

	failing atomic.Bool
}

func (h *health) fail(err error) {
	h.failing.Store(true)
	h.failed(err)
}

func (h *health) work() {
	if h.failing.CompareAndSwap(true, false) {
		h.works()
	}
}

// listed looks at the answer to a request to list.
func (h *health) listed(ctx context.Context, list runtime.Object, err error) (runtime.Object, error) {
	if err != nil && ctx.Err() == nil && broken(err) {
		h.fail(err)
	}
	return list, err
}

// broken says whether an error is more than a version that is too old, after which the
// reflector asks for a new one.
func broken(err error) bool { return !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) }

// watched looks at the answer to a request to watch. After a refused connection the
// reflector tries again, and after a watch that was to begin with all objects it lists
// them. It also tries again after a 429, for as long as it gets one: that is what a
// kind answers which the API server cannot read, for one because its conversion
// webhook is gone.
func (h *health) watched(ctx context.Context, w watch.Interface, err error, o metav1.ListOptions) (watch.Interface, error) {
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if err != nil {
		if apierrors.IsTooManyRequests(err) || !initial && ctx.Err() == nil && broken(err) && !utilnet.IsConnectionRefused(err) {
			h.fail(err)
		}
		return nil, err
	}
	if !h.failing.Load() {
		return w, nil
	}
	p := &proof{in: w, out: make(chan watch.Event), done: make(chan struct{}), wait: h.steady, works: h.work, initial: initial}
	go p.run()
	return p, nil
}

// proof is a watch that tells once it is clear that it works.
type proof struct {
	in    watch.Interface
	out   chan watch.Event
	works func()
	// wait is how long it stays open to count, when nothing comes.
	wait time.Duration
	// initial says that all objects come first, and then a bookmark.
	initial bool

	stop sync.Once
	done chan struct{}
}

// ResultChan implements watch.Interface.
func (p *proof) ResultChan() <-chan watch.Event { return p.out }

// Stop implements watch.Interface.
func (p *proof) Stop() {
	p.stop.Do(func() {
		close(p.done)
		p.in.Stop()
	})
}

func (p *proof) run() {
	defer close(p.out)
	var open <-chan time.Time
	if !p.initial {
		timer := time.NewTimer(p.wait)
		defer timer.Stop()
		open = timer.C
	}
	for {
		select {
		case <-p.done:
			return
		case <-open:
			p.works()
		case e, ok := <-p.in.ResultChan():
			if !ok {
				return
			}
			if e.Type == watch.Bookmark || e.Type != watch.Error && !p.initial {
				p.works()
			}
			select {
			case p.out <- e:
			case <-p.done:
				return
			}
		}
	}
}
