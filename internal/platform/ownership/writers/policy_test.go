// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package writers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership/writers"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	guard  = "test-claims-guard"
	syncer = "test-claims-sync"
	policy = "holdfast-claims"
	claim  = "found, declared rootsync/s/a 2026-11-01T00:00:00Z"
)

// install puts the policy, for users of the test, into an API server that has no manager
// to put it there for its own, and waits until it counts.
func install(t *testing.T, e *testkit.Env) {
	t.Helper()
	p := writers.Policy(configv1alpha1.ModeEnforce, []string{guard, syncer})
	p.Spec.Validations[0].Reason = ptr.To(metav1.StatusReasonForbidden) // as it is filled in for every policy
	for _, o := range []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy}, Spec: p.Spec},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: admission.Actions(p.Mode, false),
		}},
	} {
		if err := e.Client.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = client.IgnoreNotFound(e.Client.Delete(context.WithoutCancel(t.Context()), o))
		})
	}
	ns := e.Namespace(t)
	probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	gomega.NewWithT(t).Eventually(func() error {
		return e.Client.Patch(t.Context(), probe, annotate(of(t, e, ns, claim)), client.DryRunAll)
	}, "180s", "50ms").Should(gomega.MatchError(apierrors.IsForbidden, "forbidden"))
}

// of binds claims to a Namespace.
func of(t testing.TB, e *testkit.Env, name, claims string) string {
	t.Helper()
	o := &corev1.Namespace{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		t.Fatal(err)
	}
	return "of " + string(o.UID) + ", " + claims
}

// annotate sets the annotation, and takes it away where there is no value.
func annotate(value string) client.Patch {
	text := "null"
	if value != "" {
		text = fmt.Sprintf("%q", value)
	}
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, v1alpha1.ClaimsAnnotation, text))
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'") || !strings.Contains(err.Error(), "written by Holdfast alone") {
		t.Errorf("%s: got %v, want a 403 by the policy", what, err)
	}
}

func passes(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TestPolicy is one test, since its parts share the policy.
func TestPolicy(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	install(t, e)
	namespaces := testkit.Rule("", []string{"namespaces", "namespaces/status", "namespaces/finalize"}, "get", "create", "update", "patch")
	editor, unprotector := "test-claims-editor", "test-claims-unprotector"
	for _, user := range []string{editor, unprotector, guard, syncer} {
		e.Grant(t, "", user, namespaces)
	}
	e.Grant(t, "", unprotector, testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.UnprotectVerb))

	t.Run("nobody sets it, on no path", func(t *testing.T) {
		ns := e.Namespace(t)
		for _, user := range []string{editor, unprotector} {
			for way, err := range ways(t, e, user, ns, of(t, e, ns, claim)) {
				refused(t, user+" by "+way, err)
			}
		}
	})
	t.Run("the guard and the sync do, on every path", func(t *testing.T) {
		for _, user := range []string{guard, syncer} {
			ns := e.Namespace(t)
			for way, err := range ways(t, e, user, ns, of(t, e, ns, claim)) {
				passes(t, user+" by "+way, err)
			}
		}
	})
	t.Run("nobody changes it", func(t *testing.T) {
		ns := e.Namespace(t)
		passes(t, "the guard", e.As(t, guard).Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, annotate(of(t, e, ns, claim))))
		for _, user := range []string{editor, unprotector} {
			for way, err := range ways(t, e, user, ns, of(t, e, ns, "declared rootsync/s/mine -")) {
				refused(t, user+" by "+way, err)
			}
		}
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		passes(t, "another change", e.As(t, editor).Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))))
		passes(t, "writing it back as it is", e.As(t, editor).Update(t.Context(), o))
		passes(t, "the same of its status", e.As(t, editor).Status().Update(t.Context(), o))
	})
	t.Run("claims on another Namespace have no effect, and every user may write them", func(t *testing.T) {
		const restored = "of 59ab, " + claim
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test-claims-restored", Annotations: map[string]string{v1alpha1.ClaimsAnnotation: restored}}}
		passes(t, "CREATE", e.As(t, editor).Create(t.Context(), o))
		t.Cleanup(func() { _ = e.Client.Delete(context.WithoutCancel(t.Context()), o) })
		for way, err := range ways(t, e, editor, o.Name, restored+", "+claim) {
			passes(t, way, err)
		}
		if v, err := ownership.Decide(o); err != nil || len(v.Claims) > 0 {
			t.Errorf("got %+v, %v", v, err)
		}
		for way, err := range ways(t, e, editor, o.Name, of(t, e, o.Name, claim)) {
			refused(t, way, err)
		}
	})
	t.Run("who may unprotect takes it away", func(t *testing.T) {
		ns := e.Namespace(t)
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		passes(t, "the guard", e.As(t, guard).Patch(t.Context(), o, annotate(of(t, e, ns, "declared by no known source"))))
		refused(t, "who may not", e.As(t, editor).Patch(t.Context(), o, annotate("")))
		refused(t, "who may not, by the status", e.As(t, editor).Status().Patch(t.Context(), o, annotate("")))
		passes(t, "who may", e.As(t, unprotector).Patch(t.Context(), o, annotate("")))
		passes(t, "the guard, when it is gone", e.As(t, guard).Patch(t.Context(), o, annotate(of(t, e, ns, claim))))
		passes(t, "the guard takes it away", e.As(t, guard).Patch(t.Context(), o, annotate("")))
	})
	t.Run("a namespace that carries it is deleted and ends", func(t *testing.T) {
		ns := e.Namespace(t)
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		passes(t, "the guard", e.As(t, guard).Patch(t.Context(), o, annotate(of(t, e, ns, claim))))
		passes(t, "deleting", e.Client.Delete(t.Context(), o))
		gomega.NewWithT(t).Eventually(func() bool {
			return apierrors.IsNotFound(e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		}, "180s", "100ms").Should(gomega.BeTrue())
	})
	t.Run("claims of several at the same moment are all there", func(t *testing.T) { together(t, e) })
}

// ways try all that can change the metadata of a namespace.
func ways(t *testing.T, e *testkit.Env, user, ns, value string) map[string]error {
	t.Helper()
	c := e.As(t, user)
	there := func() *corev1.Namespace {
		o := &corev1.Namespace{}
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: ns}, o); err != nil {
			t.Fatal(err)
		}
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[v1alpha1.ClaimsAnnotation] = value
		return o
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	applied.SetName(ns)
	applied.SetAnnotations(map[string]string{v1alpha1.ClaimsAnnotation: value})
	return map[string]error{
		"PATCH":    c.Patch(t.Context(), there(), annotate(value), client.DryRunAll),
		"PUT":      c.Update(t.Context(), there(), client.DryRunAll),
		"apply":    c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("gitops"), client.ForceOwnership, client.DryRunAll),
		"status":   c.Status().Patch(t.Context(), there(), annotate(value)),
		"finalize": c.SubResource("finalize").Update(t.Context(), there()),
	}
}

// together has RootSyncs claim one namespace, each with what it has read, and read
// again where another was first.
func together(t *testing.T, e *testkit.Env) {
	t.Helper()
	ns := e.Namespace(t)
	c := e.As(t, syncer)
	created := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			mine := ownership.At(ownership.Declared, ownership.RootSync("s", fmt.Sprint(i)), created.AddDate(0, 0, 8-i))
			for {
				o := &corev1.Namespace{}
				if err := c.Get(t.Context(), client.ObjectKey{Name: ns}, o); err != nil {
					t.Error(err)
					return
				}
				w, err := ownership.Rewrite(o, ownership.Change{Claim: []ownership.Claim{mine}}, created)
				if err != nil || w == nil {
					t.Errorf("nothing is written, %v", err)
					return
				}
				body, err := w.MergePatch()
				if err != nil {
					t.Error(err)
					return
				}
				err = c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, body), client.FieldOwner(ownership.FieldManager))
				if !apierrors.IsConflict(err) {
					passes(t, mine.Claimant, err)
					return
				}
			}
		})
	}
	group.Wait()
	o := &corev1.Namespace{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: ns}, o); err != nil {
		t.Fatal(err)
	}
	v, err := ownership.Decide(o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, claim := range v.Claims {
		got = append(got, claim.Claimant)
	}
	want := strings.Fields("rootsync/s/7 rootsync/s/6 rootsync/s/5 rootsync/s/4 rootsync/s/3 rootsync/s/2 rootsync/s/1 rootsync/s/0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims, the oldest first (-want +got):\n%s", diff)
	}
}
