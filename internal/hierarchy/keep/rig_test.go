// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// known is a World that says what the test has put into it.
type known struct {
	everything world.Dirty
	copies     map[world.CopyRef]*world.CopyPlan
	bound      map[world.CopyRef][]world.CopyRef
	namespaces map[string]*world.NamespacePlan
	anchors    map[world.Ref]*world.AnchorPlan
	config     *world.ConfigPlan
}

func (w *known) Everything() world.Dirty                                           { return w.everything }
func (w *known) Copy(at world.CopyRef) *world.CopyPlan                             { return w.copies[at] }
func (w *known) Wrote(world.CopyRef, *metav1.PartialObjectMetadata, *world.Source) {}
func (w *known) Bound(role world.CopyRef) []world.CopyRef                          { return w.bound[role] }
func (w *known) Source(world.CopyRef) *world.SourcePlan                            { return nil }
func (w *known) Namespace(name string) *world.NamespacePlan                        { return w.namespaces[name] }
func (w *known) Anchor(at world.Ref) *world.AnchorPlan                             { return w.anchors[at] }
func (w *known) Config() *world.ConfigPlan                                         { return w.config }

// rig is a Keeper on a World that the test makes up. Nothing works it but the test.
type rig struct {
	*Keeper
	t      *testing.T
	world  *known
	clock  *clocktesting.FakeClock
	active bool
	// added is what is to be done, and how it was put into the queue last.
	added map[item]priorityqueue.AddOpts
}

// noting is a queue of which one can see what is put into it.
type noting struct {
	priorityqueue.PriorityQueue[item]
	added map[item]priorityqueue.AddOpts
}

func (q noting) AddWithOpts(o priorityqueue.AddOpts, items ...item) {
	for _, i := range items {
		q.added[i] = o
	}
	q.PriorityQueue.AddWithOpts(o, items...)
}

func newRig(t *testing.T, c client.Client) *rig {
	t.Helper()
	r := &rig{t: t, world: &known{copies: map[world.CopyRef]*world.CopyPlan{}}, clock: clocktesting.NewFakeClock(epoch.Time), active: true, added: map[item]priorityqueue.AddOpts{}}
	var err error
	r.Keeper, err = New(Options{
		World: r.world, Client: c, Config: &rest.Config{Host: "nowhere.invalid"}, Events: &events.FakeRecorder{}, Clock: r.clock,
		Active: func() bool { return r.active }, Pauses: timing.Production(),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.leading = true
	t.Cleanup(r.queue.ShutDown)
	r.queue = noting{r.queue, r.added}
	return r
}
