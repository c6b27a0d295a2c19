// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

var secrets = inventory.Kind{Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Kind: "Secret", Namespaced: true}

// strays is a Marker whose informer of Secrets has synced, and an API server that answers patches with err, or with the
// object without marks.
type strays struct {
	*Marker
	clock   *testingclock.FakeClock
	source  inventory.Source
	patches int
	err     error
}

func newStrays(t *testing.T) *strays {
	t.Helper()
	c := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	s := &strays{clock: testingclock.NewFakeClock(time.Unix(1000, 0)), source: inventory.Source{Resource: secrets.Resource, Label: v1alpha1.MarkedLabel}}
	c.PrependReactor("patch", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		s.patches++
		return true, secret(a.(clienttesting.PatchAction).GetName(), nil), s.err
	})
	s.Marker = New(Options{
		Kinds: inventory.NewKinds(nil, nil, c), Metadata: c, Protections: selection.NewSet(), Clock: s.clock,
		Pauses: timing.Production(), Changed: func(string) {}, OverrideGone: func(string) {},
	})
	t.Cleanup(s.queue.ShutDown)
	s.kinds = inventory.NewSnapshot([]inventory.Kind{secrets})
	s.sources[s.source] = &source{kind: secrets, synced: true}
	return s
}

// secret is one with the UID "uid-NAME".
func secret(name string, labels map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Labels: labels}}
}

// copied has the informer deliver a Secret with the marks of another object.
func (s *strays) copied(name, uid string) {
	s.Seen(s.source, secret(name, map[string]string{v1alpha1.MarkedLabel: uid, v1alpha1.ProtectedByMark: "p"}))
}

// reconcile plans and writes once; false where there is nothing to write.
func (s *strays) reconcile(t *testing.T, name string) (wrote bool, err error) {
	t.Helper()
	at := target{resource: secrets.GroupResource(), namespace: "shop", name: name, uid: types.UID("uid-" + name)}
	p, ok := s.plan(at)
	if !ok {
		return false, nil
	}
	return true, s.write(t.Context(), at, p)
}

func (s *strays) mustReconcile(t *testing.T, name string, want bool) {
	t.Helper()
	if wrote, err := s.reconcile(t, name); wrote != want || err != nil {
		t.Fatalf("reconciling %s wrote: %t, %v; want %t", name, wrote, err, want)
	}
}

func TestStrays_areRemovedOnceAfterAPause(t *testing.T) {
	t.Parallel()
	s := newStrays(t)
	s.copied("a", "another")
	s.mustReconcile(t, "a", false)
	s.clock.Step(s.o.Pauses.StrayMarks)
	s.mustReconcile(t, "a", true)
	s.copied("a", "another")
	s.clock.Step(time.Hour)
	s.mustReconcile(t, "a", false)
	if s.patches != 1 {
		t.Errorf("%d patches, want 1", s.patches)
	}
}

func TestStrays_aFailedRemovalIsRetried(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, uid string }{
		{name: "of another object", uid: "another"},
		{name: "of a version that did not bind them", uid: v1alpha1.MarkSet},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStrays(t)
			s.copied("a", tt.uid)
			s.clock.Step(s.o.Pauses.StrayMarks)
			s.err = errors.New("the API server is restarting")
			if wrote, err := s.reconcile(t, "a"); !wrote || err == nil {
				t.Fatalf("wrote: %t, %v; want an error", wrote, err)
			}
			s.err = nil
			s.clock.Step(calm)
			s.mustReconcile(t, "a", true)
			if !s.Bound() {
				t.Error("the upgrade does not end")
			}
		})
	}
}

// Holdfast may update a Role, and so remove its labels, only with all rights of the Role.
func TestStrays_stayWhereTheirRemovalIsForbidden(t *testing.T) {
	t.Parallel()
	s := newStrays(t)
	s.copied("a", "another")
	s.clock.Step(s.o.Pauses.StrayMarks)
	s.err = apierrors.NewForbidden(secrets.GroupResource(), "a", errors.New("user is attempting to grant RBAC permissions not currently held"))
	s.mustReconcile(t, "a", true)
	s.clock.Step(time.Hour)
	s.mustReconcile(t, "a", false)
	if len(s.unmarked) > 0 {
		t.Errorf("protections report %v as not marked", s.unmarked)
	}
}

// A restore brings more stray marks at once than the Marker remembers to have removed.
func TestStrays_ofALargeRestoreAreAllRemoved(t *testing.T) {
	t.Parallel()
	s := newStrays(t)
	const restored = 2 * cleanedLimit
	name := func(i int) string { return fmt.Sprintf("s-%d", i) }
	for i := range restored {
		s.copied(name(i), "another")
		s.mustReconcile(t, name(i), false)
	}
	s.clock.Step(s.o.Pauses.StrayMarks)
	for i := range restored {
		s.mustReconcile(t, name(i), true)
	}
}
