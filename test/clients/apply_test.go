// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// attempts are how often a tool that reconciles is seen to try again.
const attempts = 3

// apply is what a GitOps tool does with a manifest of its repository.
func apply(t testing.TB, c client.Client, manifest string, opts ...client.ApplyOption) error {
	t.Helper()
	opts = append(opts, client.FieldOwner("gitops"), client.ForceOwnership)
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(decode(t, manifest)), opts...)
}

func mustApply(t testing.TB, c client.Client, manifest string) {
	t.Helper()
	if err := apply(t, c, manifest); err != nil {
		t.Fatalf("apply %s: %v", manifest, err)
	}
}

func TestServerSideApply_takingTheLabelOutOfTheManifestNeedsTheRight(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	with, without := configMap(ns, "a", "1", always), configMap(ns, "a", "2")
	tool := e.As(t, editor)
	mustApply(t, tool, with)

	for range attempts {
		mustBeRefused(t, apply(t, tool, without, client.DryRunAll), unprotectRefused(ns, "configmaps/a"))
		mustBeRefused(t, apply(t, tool, without), unprotectRefused(ns, "configmaps/a"))
	}
	if got := stored(t, e, without); got != "1, protected" {
		t.Errorf("the object is %q; nothing of a manifest that was refused should be in it", got)
	}
	mustApply(t, tool, configMap(ns, "a", "3", always)) // the label is back, and so the tool goes on

	mustApply(t, e.As(t, owner), without)
	if got := stored(t, e, without); got != "2" {
		t.Errorf("the object is %q after an apply by who may unprotect it", got)
	}
	if err := tool.Delete(t.Context(), decode(t, without)); err != nil {
		t.Errorf("and then everybody may delete it: %v", err)
	}
}

func TestServerSideApply_leavesTheLabelsOfOthers(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, _ := users(t, e, ns)
	tool := e.As(t, editor)
	tests := []struct {
		name    string
		protect func(t *testing.T, name string)
	}{
		{name: "that kubectl set", protect: func(t *testing.T, name string) {
			if out := e.Kubectl(t, "--as", editor, "label", "-n", ns, "configmaps/"+name, label+"=Always"); out.Code != 0 {
				t.Fatal(out.Stderr)
			}
		}},
		{name: "that another manager applied", protect: func(t *testing.T, name string) {
			patch := decode(t, configMap(ns, name, "1", always))
			delete(patch.Object, "data")
			if err := tool.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(patch), client.FieldOwner("another")); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "that another manager applied too", protect: func(t *testing.T, name string) {
			shared := decode(t, configMap(ns, name, "1", always))
			if err := tool.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(shared), client.FieldOwner("another")); err != nil {
				t.Fatal(err)
			}
			mustApply(t, tool, configMap(ns, name, "1", always))
		}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("case-%d", i)
			mustApply(t, tool, configMap(ns, name, "1"))
			tt.protect(t, name)

			changed := configMap(ns, name, "2")
			mustApply(t, tool, changed)
			if got := stored(t, e, changed); got != "2, protected" {
				t.Errorf("the object is %q after an apply that does not mention the label", got)
			}
			mustBeRefused(t, tool.Delete(t.Context(), decode(t, changed)), deleteRefused(ns, "configmaps/"+name))
		})
	}
}

// A tool prunes what is no longer in its repository, and tries again for ever.
func TestPrune_isRefusedWithTheSameTextAtEachRetry(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	pruned := configMap(ns, "a", "1", always)
	tool := e.As(t, editor)
	mustApply(t, tool, pruned)
	o := decode(t, pruned)
	if err := tool.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}

	refusal := deleteRefused(ns, "configmaps/a")
	tests := []struct {
		name string
		opts []client.DeleteOption
	}{
		{name: "in the background", opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}},
		{name: "in the foreground", opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}},
		{name: "leaving orphans", opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationOrphan)}},
		{name: "of this very object", opts: []client.DeleteOption{client.Preconditions{UID: new(o.GetUID()), ResourceVersion: new(o.GetResourceVersion())}}},
		{name: "as a dry run", opts: []client.DeleteOption{client.DryRunAll}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range attempts {
				err := tool.Delete(t.Context(), o.DeepCopy(), tt.opts...)
				mustBeRefused(t, err, refusal)

				// What a tool decides by: that trying again at once is no use.
				var status apierrors.APIStatus
				if !errors.As(err, &status) {
					t.Fatalf("no status in %v", err)
				}
				want := metav1.Status{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
					Status:   metav1.StatusFailure,
					Message:  refusal,
					Reason:   metav1.StatusReasonForbidden,
					Code:     http.StatusForbidden,
					Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps", Causes: []metav1.StatusCause{
						{Message: strings.TrimPrefix(refusal, `configmaps "a" is forbidden: `)},
					}},
				}
				if diff := cmp.Diff(want, status.Status()); diff != "" {
					t.Errorf("the answer (-want +got):\n%s", diff)
				}
			}
		})
	}
	if got := stored(t, e, pruned); got != "1, protected" {
		t.Errorf("the object is %q", got)
	}

	if out := followAdvice(t, e, editor, refusal); out.Code == 0 || out.Stderr != "Error from server (Forbidden): "+unprotectRefused(ns, "configmaps/a")+"\n" {
		t.Errorf("who may not unprotect reads, from the command in the refusal: %s%s", out.Stdout, out.Stderr)
	}
	if out := followAdvice(t, e, owner, refusal); out.Code != 0 {
		t.Fatalf("who may unprotect reads, from the command in the refusal: %s", out.Stderr)
	}
	if err := tool.Delete(t.Context(), o.DeepCopy()); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
}
