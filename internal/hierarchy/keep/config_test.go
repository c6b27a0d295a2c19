// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// newConfigRig has a Keeper write the HNCConfiguration of a plan, and counts how often.
func newConfigRig(t *testing.T, p *world.ConfigPlan) (r *rig, wrote *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := hncv1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	wrote = new(int)
	r = newRig(t, interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
			*wrote++
			p.Config = o.DeepCopyObject().(*hncv1alpha2.HNCConfiguration)
			return nil
		},
	}))
	r.world.config = p
	return r, wrote
}

// On a busy cluster the counts change all the time, with objects that have nothing to
// do with trees.
func TestConfig_isWrittenOnceAMinuteForCounts(t *testing.T) {
	t.Parallel()
	p := &world.ConfigPlan{Config: &hncv1alpha2.HNCConfiguration{}, Resources: []world.ResourceState{{Known: true}}}
	r, wrote := newConfigRig(t, p)
	for _, step := range []struct {
		name   string
		change func()
		want   int
	}{
		{"the first time", func() {}, 1},
		{"nothing has changed", func() {}, 1},
		{"more is counted", func() { p.Resources[0].Sources++ }, 1},
		{"something is wrong", func() { p.Resources[0].Failing = "forbidden" }, 2},
		{"more is counted again", func() { p.Resources[0].Sources++ }, 2},
		{"the same after a minute", func() { r.clock.Step(time.Minute) }, 3},
		{"less is counted after a long time", func() { r.clock.Step(time.Hour); p.Resources[0].Sources-- }, 4},
		{"nothing is wrong any more", func() { p.Resources[0].Failing = "" }, 5},
		{"after a start it is not known yet what there is", func() { p.Resources[0].Known = false; r.clock.Step(time.Hour) }, 5},
		{"it cannot be known", func() { p.Resources[0].Failing = "forbidden" }, 6},
	} {
		step.change()
		if err := r.config(t.Context()); err != nil {
			t.Fatal(err)
		}
		if *wrote != step.want {
			t.Fatalf("%s: %d writes, want %d", step.name, *wrote, step.want)
		}
	}
}

// Who has read that copies wait, and has the command that lets them go, is not to find both
// gone after a restart because what waits is not known yet.
func TestConfig_whatAnEarlierProcessHeldIsSaidUntilEverythingIsKnown(t *testing.T) {
	t.Parallel()
	held := metav1.Condition{
		Type: hncv1alpha2.ConditionOutOfSync, Status: metav1.ConditionTrue, Reason: hncv1alpha2.ReasonCopiesHeld,
		Message: "12 of 12 copies would go now", LastTransitionTime: epoch,
	}
	p := &world.ConfigPlan{
		Config:    &hncv1alpha2.HNCConfiguration{Status: hncv1alpha2.HNCConfigurationStatus{Conditions: []metav1.Condition{held}}},
		Resources: []world.ResourceState{{Known: false}}, Reading: true,
	}
	r, _ := newConfigRig(t, p)
	for _, step := range []struct {
		name    string
		reading bool
		want    []metav1.Condition
	}{
		{"not all is known", true, []metav1.Condition{held}},
		{"all is known, and nothing waits", false, nil},
	} {
		p.Reading = step.reading
		if err := r.config(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, p.Config.Status.Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
