// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// tooLong is for failures alone.
const tooLong = time.Minute

// promptly fails if something waits for what goes on beside it.
func promptly(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(tooLong):
		t.Fatalf("%s waits", what)
	}
}

func loaded(t *testing.T) *configv1alpha1.HoldfastConfiguration {
	t.Helper()
	c, err := config.Load([]byte(config.Empty + "hierarchy: {mode: Enforce}"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// HNC held the lock that its webhooks took while it told of each descendant of each
// source. Here a question is answered from what was known before, for as long as a
// change takes; what is seen meanwhile is taken in; and who is told of the change
// can ask.
func TestWeakPoint16_nobodyWaitsWhileTheTreeIsChanged(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	var w *World
	told := make(chan *ConfigPlan, 1)
	w = New(Options{
		Settings: func(more []string) (settings.Settings, error) { return settings.New(c, "holdfast-system", more) },
		Changed:  func(Dirty) { told <- w.Config() },
		Declared: func() {},
	})
	if !w.enter() {
		t.Fatal("nothing is followed")
	}
	w.change(func(s *state, b *batch) {
		s.complete, s.resources = true, []Resource{}
		b.edit(tree.SetNamespace("a", &tree.Object{}))
	})
	<-told

	begun, end := make(chan struct{}), make(chan struct{})
	go w.change(func(_ *state, b *batch) {
		b.edit(tree.SetNamespace("b", &tree.Object{}))
		b.edit(tree.SetConfig("b", &hncv1alpha2.HierarchyConfigurationSpec{Parent: "a"}))
		close(begun)
		<-end
	})
	<-begun
	promptly(t, "a question", func() {
		v, err := w.View()
		if err != nil || v.Tree.Get("a") == nil || v.Tree.Get("b") != nil {
			t.Errorf("before the change is done the answer goes by %+v, %v", v, err)
		}
		if w.External() {
			t.Error("there is an external namespace")
		}
	})
	h := &session{world: w, ctx: t.Context()}
	promptly(t, "a watch", func() {
		for range 10_000 {
			h.Seen(inventory.ObjectSource{}, &metav1.PartialObjectMetadata{})
		}
	})
	close(end)
	promptly(t, "who is told of a change", func() { <-told })
	if v, err := w.View(); err != nil || v.Tree.Get("b") == nil || v.Tree.Get("b").Parent != "a" {
		t.Errorf("after the change the answer goes by %+v, %v", v, err)
	}
}
