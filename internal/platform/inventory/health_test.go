// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		{name: "that it stays open is enough", o: plain, do: func(*watch.RaceFreeFakeWatcher) { <-time.After(steady) }, want: 1},
		{name: "of one that begins with all objects the first says nothing", o: initial, do: func(w *watch.RaceFreeFakeWatcher) { w.Add(object) }},
		{name: "but the bookmark behind them", o: initial, do: func(w *watch.RaceFreeFakeWatcher) { w.Action(watch.Bookmark, object) }, want: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				works := 0
				h := &health{failed: func(error) {}, works: func() { works++ }}
				h.fail(forbidden)
				in := watch.NewRaceFreeFake()
				out, err := h.watched(in, nil, tt.o)
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
	if out, err := h.watched(in, nil, metav1.ListOptions{}); err != nil || out != watch.Interface(in) {
		t.Errorf("a watch that never failed: got %v, %v; want it as it is", out, err)
	}
	h.work()
	h.works = func() {}
	busy, other := apierrors.NewTooManyRequests("storage is (re)initializing", 1), errors.New("the reflector tells of it")
	for _, err := range []error{busy, other} {
		if _, got := h.watched(nil, err, metav1.ListOptions{}); !errors.Is(got, err) {
			t.Errorf("got %v, want the error itself", got)
		}
	}
	if len(told) != 1 || !errors.Is(told[0], busy) {
		t.Errorf("told of %v, want only of what the reflector keeps to itself", told)
	}
}
