// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
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

// Nobody tells when a right is granted, nor whether a policy or a lack of rights has forbidden a write.
func TestConfig_namesTheRightsThatAreMissing(t *testing.T) {
	t.Parallel()
	kind := inventory.Kind{Kind: "Thing", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}}
	p := &world.ConfigPlan{Config: &hncv1alpha2.HNCConfiguration{}, Resources: []world.ResourceState{{Resource: world.Resource{Kind: kind}, Known: true}}}
	r, _ := newConfigRig(t, p)
	r.look()
	var asked []string
	lacks, broken := "a rule is missing", errors.New("out of order")
	r.o.Rights = func(_ context.Context, of schema.GroupResource) (string, error) {
		asked = append(asked, of.String())
		return lacks, broken
	}
	at := place("Thing.example.com", "ns", "x")
	i := item{what: aCopy, kind: at.Kind, name: at.Name, namespace: at.Namespace}
	forbidden := func() {
		err := apierrors.NewForbidden(kind.Resource.GroupResource(), "x", nil)
		r.progress.begin(at)
		r.progress.end(at, err)
		delete(r.added, i)
		r.doubt(i, err)
	}
	for _, step := range []struct {
		name   string
		change func()
		asks   bool
		want   string
		again  bool
	}{
		{name: "nothing was forbidden", change: func() {}},
		{name: "something was, and nobody answers", change: forbidden, asks: true},
		{name: "somebody answers", change: func() { broken = nil }, asks: true, want: "a rule is missing"},
		{name: "a moment later", change: forbidden, want: "a rule is missing"},
		{name: "later", change: func() { r.clock.Step(time.Minute) }, asks: true, want: "a rule is missing"},
		{name: "it is granted", change: func() { r.clock.Step(time.Minute); lacks = "" }, asks: true, again: true},
		{name: "after that", change: func() { r.clock.Step(time.Minute); delete(r.added, i) }},
		{name: "a policy forbids it", change: forbidden, asks: true},
		{name: "again and again", change: forbidden},
		{name: "it cannot be watched", change: func() {
			r.clock.Step(time.Minute)
			lacks, p.Resources[0].Failing = "a rule is missing", "forbidden"
		}, asks: true, want: "objects cannot be watched: things.example.com: forbidden; a rule is missing"},
	} {
		asked = nil
		step.change()
		if err := r.config(t.Context()); err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, c := range p.Config.Status.Conditions {
			said += c.Message
		}
		_, again := r.added[i]
		if asks := len(asked) > 0; said != step.want || asks != step.asks || again != step.again {
			t.Errorf("%s: said %q, want %q; asks: %t, copies again: %t", step.name, said, step.want, asks, again)
		}
	}
}
