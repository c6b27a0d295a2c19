// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

var going = &metav1.Time{Time: epoch.Time}

func TestDecide(t *testing.T) {
	t.Parallel()
	from := &world.Source{Object: &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "up"}}}, Digest: propagate.Digest{1}}
	is := func(from string, digest byte) *world.Copy {
		return &world.Copy{From: from, Digest: propagate.Digest{digest}}
	}
	leaving := is("up", 1)
	leaving.DeletionTimestamp = going
	remove, copied, leave := propagate.Verdict{Action: propagate.Remove}, propagate.Verdict{Action: propagate.Copy}, propagate.Verdict{Action: propagate.Leave}
	for _, tt := range []struct {
		name string
		plan world.CopyPlan
		want action
	}{
		{name: "nothing is there: a copy is made", plan: world.CopyPlan{Verdict: copied, From: from}, want: create},
		{name: "a copy is as it should be", plan: world.CopyPlan{Verdict: copied, From: from, Have: is("up", 1)}},
		{name: "a copy of something else is changed", plan: world.CopyPlan{Verdict: copied, From: from, Have: is("up", 2)}, want: update},
		{name: "a copy from elsewhere is changed", plan: world.CopyPlan{Verdict: copied, From: from, Have: is("elsewhere", 1)}, want: update},
		{name: "an object that is no copy gives way", plan: world.CopyPlan{Verdict: copied, From: from, Instead: from}, want: update},
		{name: "a source that has gone meanwhile is not copied", plan: world.CopyPlan{Verdict: copied}},
		{name: "a copy without a source goes", plan: world.CopyPlan{Verdict: remove, Have: is("up", 1)}, want: "delete"},
		{name: "one that is going already is left alone", plan: world.CopyPlan{Verdict: remove, Have: leaving}},
		{name: "an object that is no copy stays", plan: world.CopyPlan{Verdict: remove, Instead: from}},
		{name: "what comes from a namespace that is going stays with the orphan", plan: world.CopyPlan{Verdict: remove, Have: is("up", 1), SourceGoing: true}},
		{name: "but not what is to be removed", plan: world.CopyPlan{Verdict: remove, Have: is("up", 1), SourceGoing: true, Mode: hncv1alpha2.ModeRemove}, want: "delete"},
		{name: "nor what grants more than its source", plan: world.CopyPlan{Verdict: remove, Have: is("up", 1), SourceGoing: true, Unsafe: true}, want: "delete"},
		{name: "a halted namespace is left as it is", plan: world.CopyPlan{Verdict: leave, Have: is("up", 2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := decide(&tt.plan); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	type in struct {
		state            hncv1alpha2.AnchorState
		was              hncv1alpha2.AnchorState
		finalizer, going bool
		deletes          bool
		subGoing, parent bool // the subnamespace, or the parent, is being deleted
	}
	for _, tt := range []struct {
		name string
		in   in
		want string // what is made, deleted, and written: finalizer and state
	}{
		{name: "a new anchor makes its subnamespace", in: in{state: hncv1alpha2.AnchorMissing}, want: "make, write finalizer Ok"},
		{name: "not in a parent that is going", in: in{state: hncv1alpha2.AnchorMissing, parent: true}, want: "write finalizer Missing"},
		{name: "one that is as it should be is not written", in: in{state: hncv1alpha2.AnchorOk, was: hncv1alpha2.AnchorOk, finalizer: true}},
		{name: "a conflict is said", in: in{state: hncv1alpha2.AnchorConflict, finalizer: true}, want: "write finalizer Conflict"},
		{name: "a forbidden one has no finalizer", in: in{state: hncv1alpha2.AnchorForbidden, finalizer: true}, want: "write Forbidden"},
		{name: "deleting one deletes the subnamespace and waits", in: in{state: hncv1alpha2.AnchorOk, was: hncv1alpha2.AnchorOk, finalizer: true, going: true, deletes: true}, want: "delete"},
		{name: "it waits while the subnamespace is going", in: in{state: hncv1alpha2.AnchorOk, was: hncv1alpha2.AnchorOk, finalizer: true, going: true, subGoing: true}},
		{name: "when that is gone, it goes", in: in{state: hncv1alpha2.AnchorMissing, was: hncv1alpha2.AnchorMissing, finalizer: true, going: true}, want: "write Missing"},
		{name: "it does not take along what may not go", in: in{state: hncv1alpha2.AnchorOk, was: hncv1alpha2.AnchorOk, finalizer: true, going: true}, want: "write Ok"},
		{name: "nor what belongs to somebody else", in: in{state: hncv1alpha2.AnchorConflict, was: hncv1alpha2.AnchorConflict, finalizer: true, going: true}, want: "write Conflict"},
		{name: "without its finalizer it deletes nothing", in: in{state: hncv1alpha2.AnchorOk, was: hncv1alpha2.AnchorOk, going: true, deletes: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &world.AnchorPlan{
				Anchor: &hncv1alpha2.SubnamespaceAnchor{}, Within: &corev1.Namespace{}, Subnamespace: &corev1.Namespace{},
				State: tt.in.state, DeletesSubnamespace: tt.in.deletes,
			}
			p.Anchor.Namespace, p.Anchor.Name, p.Anchor.Status.State = "parent", "sub", tt.in.was
			if tt.in.finalizer {
				p.Anchor.Finalizers = []string{hncv1alpha2.FinalizerAnchor}
			}
			if tt.in.going {
				p.Anchor.DeletionTimestamp = going
			}
			if tt.in.subGoing {
				p.Subnamespace.DeletionTimestamp = going
			}
			if tt.in.parent {
				p.Within.DeletionTimestamp = going
			}
			if got := said(next(p)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func said(s step) string {
	var out string
	if s.Make != nil {
		out = "make, "
	}
	if s.Delete != nil {
		out += "delete"
	}
	if s.Write == nil {
		return out
	}
	out += "write "
	if controllerutil.ContainsFinalizer(s.Write, hncv1alpha2.FinalizerAnchor) {
		out += "finalizer "
	}
	return out + string(s.Write.Status.State)
}

// A subnamespace that somebody else declares does not go with its anchor.
func TestLets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, claims string
		lets, fails  bool
	}{
		{name: "the anchor made it", claims: "subnamespace anchor/parent 2026-11-01T00:00:00Z", lets: true},
		{name: "nothing is written, and the annotation names the parent", lets: true},
		{name: "a RootSync declares it", claims: ownership.New(ownership.At(ownership.Declared, ownership.RootSync("sync", "one"), epoch.Time)).String()},
		{name: "nobody can tell", claims: "?", fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &world.AnchorPlan{Anchor: &hncv1alpha2.SubnamespaceAnchor{}, Subnamespace: &corev1.Namespace{}, DeletesSubnamespace: true}
			p.Anchor.Namespace = "parent"
			p.Subnamespace.Annotations = map[string]string{hncv1alpha2.AnnotationSubnamespaceOf: "parent"}
			if tt.claims != "" {
				p.Subnamespace.UID = "1"
				p.Subnamespace.Annotations[v1alpha1.ClaimsAnnotation] = "of 1, " + tt.claims
			}
			got, err := lets(p)
			if got != tt.lets || (err != nil) != tt.fails {
				t.Errorf("got %t and %v, want %t", got, err, tt.lets)
			}
		})
	}
}

func TestConditions_keepTheirTimes(t *testing.T) {
	t.Parallel()
	before, now := metav1.Unix(100, 0), metav1.Unix(200, 0)
	have := []metav1.Condition{{Type: "A", Reason: "R", LastTransitionTime: before}, {Type: "B", Reason: "Old", LastTransitionTime: before}}
	got := conditions(have, []tree.Condition{
		{Type: "A", Reason: "R", Message: "new words"}, {Type: "B", Reason: "New"}, {Type: "C", Reason: hncv1alpha2.ReasonAncestorHalted},
	}, now)
	want := []metav1.Condition{
		{Type: "A", Status: "True", Reason: "R", Message: "new words", LastTransitionTime: before},
		{Type: "B", Status: "True", Reason: "New", LastTransitionTime: now},
		{Type: "C", Status: "True", Reason: hncv1alpha2.ReasonAncestorHalted, LastTransitionTime: epoch},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	have := map[string]string{"same": "1", "other": "1", "ours": "1", "theirs": "1"}
	want := map[string]string{"same": "1", "other": "2", "new": "1"}
	got := difference(have, want, func(key string) bool { return key == "ours" })
	if diff := cmp.Diff(map[string]any{"other": "2", "new": "1", "ours": nil}, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
