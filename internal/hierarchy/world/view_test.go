// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Who goes by a view refuses and writes: not before it is known what is copied, and
// which namespaces the HNCConfiguration excludes.
func TestView_isThereWithTheSettingsAndKindsOfTheHNCConfiguration(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	var kinds *inventory.Snapshot
	declared := 0
	w := New(Options{
		Kinds:    func() *inventory.Snapshot { return kinds },
		Settings: func(more []string) (settings.Settings, error) { return settings.New(c, "holdfast-system", more) },
		Changed:  func(Dirty) {},
		Declared: func() { declared++ },
	})
	if !w.enter() {
		t.Fatal("nothing is followed")
	}
	config := &hncv1alpha2.HNCConfiguration{Spec: hncv1alpha2.HNCConfigurationSpec{ExcludedNamespaces: []string{"x"}}}
	config.Name = hncv1alpha2.HNCConfigurationName
	notYet := func(when string) {
		t.Helper()
		if v, err := w.View(); !errors.Is(err, ErrNotYet) {
			t.Errorf("%s: there is a view: %+v, %v", when, v, err)
		}
	}
	w.change(func(s *state, b *batch) {
		s.seen(settingsOf, config, b)
		for _, from := range base {
			s.syncedNow(from, b)
		}
	})
	notYet("all is read")
	if !w.align(&session{}) {
		t.Fatal("nothing is followed")
	}
	notYet("what the API server serves is not known")

	kinds, declared = inventory.NewSnapshot(nil), 0
	w.align(&session{})
	v, err := w.View()
	if err != nil || !v.Settings.Excluded("x") || v.Resources == nil {
		t.Errorf("in the end the view is %+v, %v", v, err)
	}
	if declared != 1 {
		t.Errorf("it is told %d times", declared)
	}
}
