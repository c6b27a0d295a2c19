// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	forbidden := errors.New("forbidden")
	plain, initial := metav1.ListOptions{}, metav1.ListOptions{SendInitialEvents: new(true)}
	object := &metav1.PartialObjectMetadata{}
	for _, tt := range []struct {
		name string
		o    metav1.ListOptions
		// do happens on a watch that was opened after a failure.
		do   func(*watch.RaceFreeFakeWatcher)
		want int
	}{
		{name: "that it opens is not enough", o: plain, do: func(*watch.RaceFreeFakeWatcher) {}},
		{name: "an event says that it works", o: plain, do: func(w *watch.RaceFreeFakeWatcher) { w.Add(object) }, want: 1},
		{name: "an error says nothing of the kind", o: plain, do: func(w *watch.RaceFreeFakeWatcher) { w.Error(&metav1.Status{}) }},
		{name: "many events say it once", o: plain, do: func(w *watch.RaceFreeFakeWatcher) { w.Add(object); w.Modify(object) }, want: 1},
		{name: "that it stays open is enough", o: plain, do: func(*watch.RaceFreeFakeWatcher) { <-time.After(time.Minute) }, want: 1},
		{name: "of one that begins with all objects the first says nothing", o: initial, do: func(w *watch.RaceFreeFakeWatcher) { w.Add(object) }},
		{name: "but the bookmark behind them", o: initial, do: func(w *watch.RaceFreeFakeWatcher) { w.Action(watch.Bookmark, object) }, want: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				works := 0
				h := &health{failed: func(error) {}, works: func() { works++ }, steady: time.Minute}
				h.fail(forbidden)
				in := watch.NewRaceFreeFake()
				out, err := h.watched(t.Context(), in, nil, tt.o)
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					for range out.ResultChan() {
					}
				}()
				tt.do(in)
				synctest.Wait()
				out.Stop()
				synctest.Wait()
				if works != tt.want {
					t.Errorf("told %d times that it works, want %d", works, tt.want)
				}
				if !in.IsStopped() {
					t.Error("the watch was not stopped")
				}
			})
		})
	}
}

func TestHealth_whatItTells(t *testing.T) {
	t.Parallel()
	var told []error
	h := &health{failed: func(err error) { told = append(told, err) }, works: func() { t.Error("it never failed") }}
	in := watch.NewFake()
	if out, err := h.watched(t.Context(), in, nil, metav1.ListOptions{}); err != nil || out != watch.Interface(in) {
		t.Errorf("a watch that never failed: got %v, %v; want it as it is", out, err)
	}
	h.work()
	h.works = func() {}
	refused := &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	initial := metav1.ListOptions{SendInitialEvents: new(true)}
	for _, tt := range []struct {
		name     string
		err      error
		of       metav1.ListOptions
		list     bool
		wantTold bool
	}{
		{name: "a kind that cannot be read now answers 429, and the reflector goes on asking", err: apierrors.NewTooManyRequests("storage is (re)initializing", 1), wantTold: true},
		{name: "the same where all objects were to come first", err: apierrors.NewTooManyRequests("storage is (re)initializing", 1), of: initial, wantTold: true},
		{name: "a watch that is forbidden", err: apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "", nil), wantTold: true},
		{name: "one that was to begin with all objects: they are listed next", err: apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "", nil), of: initial},
		{name: "a version that is too old", err: apierrors.NewResourceExpired("too old")},
		{name: "an API server that is away", err: refused},
		{name: "a list that is forbidden", err: apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "", nil), list: true, wantTold: true},
		{name: "a list of a version that is too old", err: apierrors.NewResourceExpired("too old"), list: true},
		{name: "a list from an API server that is away", err: refused, list: true, wantTold: true},
	} {
		told = nil
		var got error
		if tt.list {
			_, got = h.listed(t.Context(), nil, tt.err)
		} else {
			_, got = h.watched(t.Context(), nil, tt.err, tt.of)
		}
		if !errors.Is(got, tt.err) {
			t.Errorf("%s: got %v, want the error itself", tt.name, got)
		}
		if (len(told) == 1) != tt.wantTold {
			t.Errorf("%s: told of %v, want that it is told: %v", tt.name, told, tt.wantTold)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	told = nil
	if _, err := h.listed(ended, nil, ended.Err()); err == nil || told != nil {
		t.Errorf("the end of the process: got %v, told %v; want an error of which nobody is told", err, told)
	}
}
