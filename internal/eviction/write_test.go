// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// One merge patch carries the UID of the pod that was judged.
func TestWrite_isOneMergePatchForThatPodAlone(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	p := kafkaPod(t, r, e.Namespace(t))
	r.ask(t, asks(p.Namespace, p.Name))
	want := []string{fmt.Sprintf(`application/merge-patch+json {"metadata":{"annotations":{%q:"true"},"uid":%q}}`, rollAnnotation, p.UID)}
	if diff := cmp.Diff(want, r.wire.bodies); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// Everything that a policy writes goes into one patch; what it sends is sent once.
func TestWrite_aPolicyWritesOnceAndSendsItsEvents(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, tt := range []struct {
		name, spec string
		patches    int
		events     []policy.Event
	}{
		{
			name:    "a pod that is held",
			spec:    `{"match":{"podSelector":{}},"action":{"annotations":{"move":"please"},"labels":{"moving":"yes"},"event":{"reason":"Move","message":"move it"}},"verdict":{"type":"Deny","message":"m"}}`,
			patches: 1, events: []policy.Event{{Reason: "Move", Message: "move it"}},
		},
		{
			name:   "a pod that passes with nothing to write",
			spec:   `{"match":{"podSelector":{}},"action":{"event":{"reason":"Move","message":"move it"}},"verdict":{"type":"Allow"}}`,
			events: []policy.Event{{Reason: "Move", Message: "move it"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			r.policies(t, map[string]string{"p": tt.spec})
			p := kafkaPod(t, r, ns)
			r.ask(t, asks(ns, p.Name))
			if diff := cmp.Diff(tt.events, r.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if _, patches := r.wire.calls(); patches != tt.patches {
				t.Errorf("got %d PATCHes, want %d", patches, tt.patches)
			}
			if len(r.counts) != 1 {
				t.Errorf("counted %v, want one", r.counts)
			}
			r.ask(t, asks(ns, p.Name, dryRun))
			if len(r.counts) != 1 || len(r.events) != len(tt.events) {
				t.Errorf("a dry run was counted or told: %v %v", r.counts, r.events)
			}
		})
	}
}

// What is watched needs no question, as long as it can be the pod that is meant.
func TestCached_whatIsAskedOfTheAPIServer(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, tt := range []struct {
		name, spec    string
		forget, old   bool
		byUID         bool
		want          string
		gets, patches int
	}{
		{name: "a Kafka pod", want: stays, patches: 1},
		{name: "a Kafka pod by its UID", byUID: true, want: stays, patches: 1},
		{name: "a pod that the watch has not seen yet", forget: true, want: stays, gets: 1, patches: 1},
		{name: "a pod by its UID, of which the watch has an older one", old: true, byUID: true, want: stays, gets: 1, patches: 1},
		{name: "a pod of which the watch has an older one", old: true, want: stays, gets: 1, patches: 2},
		{
			name: "a policy that looks at the whole pod", spec: `{"match":{"condition":"pod.spec.containers[0].name == 'none'"},"verdict":{"type":"Deny","message":"m"}}`,
			want: stays, gets: 1, patches: 1,
		},
		{
			name: "a policy that does not match by labels", spec: `{"match":{"podSelector":{"matchLabels":{"a":"b"}},"condition":"true"},"verdict":{"type":"Deny","message":"m"}}`,
			want: stays, patches: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			if tt.spec != "" {
				r.policies(t, map[string]string{"p": tt.spec})
			}
			p := kafkaPod(t, r, ns)
			if !tt.forget {
				r.cache = map[string]*metav1.ObjectMeta{p.Name: &p.ObjectMeta}
			}
			if tt.old {
				p = r.recreate(t, p)
			}
			var changes []func(_, _ question)
			if tt.byUID {
				changes = append(changes, withUID(string(p.UID)))
			}
			if diff := cmp.Diff(tt.want, r.ask(t, asks(ns, p.Name, changes...))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if gets, patches := r.wire.calls(); gets != tt.gets || patches != tt.patches {
				t.Errorf("got %d GETs and %d PATCHes, want %d and %d", gets, patches, tt.gets, tt.patches)
			}
			if diff := cmp.Diff(rolled, r.annotations(t, ns, p.Name)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// Nobody asks any more for a pod that was replaced; its bookkeeping went with it.
func TestRelease_aPodThatWasReplaced(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	p := kafkaPod(t, r, e.Namespace(t))
	w := newWaiting(r.client, func(string) {})
	key, was := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, held{policy: "p", uid: p.UID}
	w.pods[key] = was
	p = r.recreate(t, p)
	if err := w.release(t.Context(), key, was); err != nil || w.all() != 0 {
		t.Errorf("another pod has its name: %v, and %d are held", err, w.all())
	}
	w.pods[key] = was
	r.remove(t, p)
	if err := w.release(t.Context(), key, was); err != nil || w.all() != 0 {
		t.Errorf("there is no pod of its name: %v, and %d are held", err, w.all())
	}
}

// A pod that Holdfast may not change any more keeps neither the others nor the
// status from what is theirs.
func TestRelease_onePodThatNobodyMayChange(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	r := newRig(t, e)
	stuck, other := kafkaPod(t, r, ns), kafkaPod(t, r, ns)
	r.wire.instead = func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/"+stuck.Name) {
			return nil, nil //nolint:nilnil // it goes on
		}
		return refusal(http.MethodPatch, 403, metav1.StatusReasonForbidden, "not this one")(req)
	}
	set := newPolicySet(func(string) {})
	w := newWaiting(r.pods.client, func(string) {})
	for _, p := range []*corev1.Pod{stuck, other} {
		w.Seen(inventory.Source{}, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: p.Name, UID: p.UID, Labels: map[string]string{v1alpha1.EvictingLabel: "p"},
		}})
	}
	c := &controller{policies: set, waiting: w, clock: clock.RealClock{}}
	count, _, err := c.release(t.Context(), "p", true)
	if count != 1 || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), stuck.Name) {
		t.Errorf("%d are held: %v", count, err)
	}
	if _, held := w.of("p")[types.NamespacedName{Namespace: ns, Name: other.Name}]; held {
		t.Error("the other one is held as well")
	}
}

// What a pod says of itself does not keep it on the list for ever.
func TestRelease_aTimeThatIsStillToCome(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	p := kafkaPod(t, r, e.Namespace(t))
	set := newPolicySet(func(string) {})
	in := &v1alpha1.EvictionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	in.Spec.Match.Condition, in.Spec.Verdict = "true", v1alpha1.EvictionVerdict{Type: v1alpha1.VerdictTypeDeny, Message: "m"}
	set.put(in)
	w := newWaiting(r.client, func(string) {})
	w.Seen(inventory.Source{}, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, Labels: map[string]string{v1alpha1.EvictingLabel: "p"},
		Annotations: map[string]string{v1alpha1.EvictionAskedAnnotation: fmt.Sprintf(
			`{"policy":"p","uid":%q,"first":"2026-01-01T00:00:00Z","last":"2926-01-01T00:00:00Z"}`, p.UID)},
	}})
	c := &controller{policies: set, waiting: w, clock: clock.RealClock{}}
	if count, _, err := c.release(t.Context(), "p", false); count != 0 || err != nil {
		t.Errorf("%d are held: %v", count, err)
	}
}
