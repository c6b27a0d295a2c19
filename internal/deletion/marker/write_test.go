// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
)

func TestPause(t *testing.T) {
	t.Parallel()
	holds := func(text string) marks.Set {
		return marks.Set{v1alpha1.HoldsProtectedMark: {Value: v1alpha1.MarkSet, Detail: text}}
	}
	none := marks.Set{}
	for _, tt := range []struct {
		name             string
		last, have, want marks.Set
		ago, pause       time.Duration
	}{
		{name: "the first mark does not wait", have: none, want: holds("1"), ago: time.Hour},
		{name: "a mark that goes does not wait", last: holds("1"), have: holds("1"), want: none},
		{name: "its text waits", last: holds("1"), have: holds("1"), want: holds("2"), ago: calm / 4, pause: calm * 3 / 4},
		{name: "its text does not wait for ever", last: holds("1"), have: holds("1"), want: holds("2"), ago: calm},
		{name: "what somebody has just undone waits", last: holds("1"), have: none, want: holds("1"), ago: calm / 4, pause: calm * 3 / 4},
		{name: "what somebody undid long ago does not", last: holds("1"), have: none, want: holds("1"), ago: time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakeClock(time.Unix(1000, 0))
			at := target{name: "x"}
			m := &Marker{o: Options{Clock: clock}, last: map[target]written{}}
			if tt.last != nil {
				m.last[at] = written{clock.Now().Add(-tt.ago), tt.last}
			}
			if got := max(0, m.pause(at, tt.have, tt.want)); got != tt.pause {
				t.Errorf("waits %s, want %s", got, tt.pause)
			}
		})
	}
}

// One object that can be marked does not hide another one that cannot.
func TestNote(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Kind: "Widget"}
	protections := selection.NewSet()
	protections.Put(&selection.Protection{Name: "p", Selectors: []selection.Selector{{Kind: kind}}})
	var changed int
	m := &Marker{
		o:        Options{Protections: protections, Changed: func(string) { changed++ }},
		unmarked: map[schema.GroupKind]map[target]string{},
	}
	a, b := target{name: "a"}, target{name: "b"}
	m.note(b, kind, errors.New("no b"))
	m.note(a, kind, errors.New("no a"))
	m.note(target{name: "c"}, kind, nil)
	if diff := cmp.Diff("the API server refuses to have objects marked: 2, the first no a", refusals(m.unmarked[kind])); diff != "" {
		t.Errorf("what is said (-want +got):\n%s", diff)
	}
	m.note(a, kind, nil)
	if changed != 1 {
		t.Errorf("told %d times, want once: that there is one, not which", changed)
	}
	m.note(b, kind, nil)
	if len(m.unmarked) != 0 || changed != 2 {
		t.Errorf("%v is left, told %d times; want nothing, and to be told", m.unmarked, changed)
	}
}

// What is being deleted keeps its override although no watch has said so yet:
// without it the API server would refuse what hangs below, and it would never end.
func TestSend_anOverrideEndsOnlyWhereNothingIsBeingDeleted(t *testing.T) {
	t.Parallel()
	kind := inventory.Kind{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Kind: "Namespace"}
	known := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "1", Labels: map[string]string{v1alpha1.OverrideMark: "o"}},
	}
	going := known.DeepCopy()
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Unix(1000, 0)}, []string{"kubernetes"}
	other := known.DeepCopy()
	other.UID = "2"
	for _, tt := range []struct {
		name    string
		live    *metav1.PartialObjectMetadata
		ends    bool
		patches int
		gone    bool
	}{
		{name: "one that stays loses it", live: known, ends: true, patches: 1},
		{name: "one that is being deleted keeps it", live: going, ends: true},
		{name: "another of its name is left alone", live: other, ends: true, gone: true},
		{name: "a mark that is no override needs no look", live: going, patches: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scheme := metadatafake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			c := metadatafake.NewSimpleMetadataClient(scheme, tt.live.DeepCopy())
			patches := 0
			c.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				patches++
				return true, &metav1.PartialObjectMetadata{}, nil
			})
			m := &Marker{o: Options{Metadata: c}, writer: marks.NewWriter(c)}
			_, err := m.send(t.Context(), plan{kind: kind, object: known, ends: tt.ends})
			if patches != tt.patches || apierrors.IsNotFound(err) != tt.gone || err != nil && !tt.gone {
				t.Errorf("%d patches and %v, want %d, gone %t", patches, err, tt.patches, tt.gone)
			}
		})
	}
}
