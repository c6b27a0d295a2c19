// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// The watch tells of a condition later than the next one is due.
func TestCompletion_whileTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	var said []string
	r := newRig(t, interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
			body, err := p.Data(o)
			for _, reason := range []string{"Copying", "Copied"} {
				if strings.Contains(string(body), `"`+reason+`"`) {
					said = append(said, reason)
				}
			}
			o.SetResourceVersion(strconv.Itoa(10 + len(said)))
			return err
		},
	}))
	r.look()
	ns := &corev1.Namespace{}
	ns.Name, ns.ResourceVersion = "ns", "10"
	ns.Status.Conditions = []corev1.NamespaceCondition{*unless(nil, corev1.ConditionTrue, "Copied", "everything that is copied into the namespace is there")}
	r.world.namespaces = map[string]*world.NamespacePlan{"ns": {Namespace: ns, Outcome: &tree.Outcome{Managed: true, Parent: "up"}}}
	at := place("Secret", "ns", "x")
	r.Changed(world.Dirty{Copies: sets.New(at), Moved: sets.New("ns")})
	for range 2 {
		if err := r.completion(t.Context(), "ns"); err != nil {
			t.Fatal(err)
		}
		r.progress.end(at, nil)
	}
	if got := strings.Join(said, " "); got != "Copying Copied" {
		t.Errorf("said of %s: %s", v1alpha1.ConditionPropagationComplete, got)
	}
}

// Nothing else would have it written again.
func TestNamespace_aConditionThatOthersWroteIsPutBack(t *testing.T) {
	t.Parallel()
	copied := unless(nil, corev1.ConditionTrue, "Copied", "everything that is copied into the namespace is there")
	of := func(status corev1.ConditionStatus, reason string) *corev1.NamespaceCondition {
		return unless(nil, status, reason, "by somebody")
	}
	at := place("Secret", "ns", "x")
	begun := func(r *rig) { r.progress.begin(at) }
	failing := func(r *rig) {
		r.progress.begin(at)
		r.progress.end(at, errors.New("no"))
	}
	tests := []struct {
		name   string
		have   *corev1.NamespaceCondition
		told   bool
		state  func(*rig)
		parent string
		want   bool
	}{
		{name: "as it should be", have: copied, parent: "up"},
		{name: "as it should be, and an ordinary change is copied right now", have: copied, parent: "up", state: begun},
		{name: "a namespace that Holdfast took over has none", parent: "up"},
		{name: "false, by a replica that led before", have: of(corev1.ConditionFalse, "CannotCopy"), parent: "up", want: true},
		{name: "false, while copies are on their way", have: of(corev1.ConditionFalse, "CannotCopy"), parent: "up", state: begun, want: true},
		{name: "true in other words", have: of(corev1.ConditionTrue, "Whatever"), parent: "up", want: true},
		{name: "true, where a copy fails", have: copied, parent: "up", state: failing, want: true},
		{name: "removed, after Holdfast wrote it", told: true, parent: "up", want: true},
		{name: "false, on one that has become a root", have: of(corev1.ConditionFalse, "Copying"), want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.look()
			ns := &corev1.Namespace{}
			ns.Name, ns.ResourceVersion = "ns", "10"
			if tt.have != nil {
				ns.Status.Conditions = []corev1.NamespaceCondition{*tt.have}
			}
			if tt.told {
				r.told.Add("ns", told{stamp{"9", r.clock.Now()}, copied})
			}
			if tt.state != nil {
				tt.state(r)
			}
			r.world.namespaces = map[string]*world.NamespacePlan{"ns": {Namespace: ns, Outcome: &tree.Outcome{Managed: true, Parent: tt.parent}}}
			if err := r.namespace(t.Context(), "ns"); err != nil {
				t.Fatal(err)
			}
			o, got := r.added[item{what: aCompletion, name: "ns"}]
			if got != tt.want || got && o.After == 0 {
				t.Errorf("it is looked at again: %t, after %s", got, o.After)
			}
			if _, _, known := r.progress.of("ns"); tt.want && !known {
				t.Error("nothing would be written then")
			}
		})
	}
}
