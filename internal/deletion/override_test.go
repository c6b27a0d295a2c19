// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// asker is a user who may ask for overrides and unprotect: in a namespace, or
// cluster-wide where it is empty.
func asker(t testing.TB, e *testkit.Env, ns, user string) client.Client {
	t.Helper()
	e.Grant(t, "", user, testkit.Rule(v1alpha1.GroupName, []string{"deletionoverrides"}, "create", "get", "patch", "update", "delete"))
	mayUnprotect(t, e, ns, user)
	return e.As(t, user)
}

// overrideOf asks, in the name of a user, for an override of an object.
func overrideOf(t testing.TB, e *testkit.Env, name, user string, o client.Object) *v1alpha1.DeletionOverride {
	t.Helper()
	kind, err := apiutil.GVKForObject(o, e.Client.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	return &v1alpha1.DeletionOverride{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.DeletionOverrideSpec{
			Target: v1alpha1.OverrideTarget{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
			},
			Reason: "a test", Duration: "5m", RequestedBy: user,
		},
	}
}

// ask creates an override, and returns what takes it away.
func ask(t testing.TB, e *testkit.Env, c client.Client, o *v1alpha1.DeletionOverride) (end func()) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("ask for an override: %v", err)
	}
	return func() { takeAway(t, e, "dov", o.Name) }
}

// phase is where an override stands.
func phase(t testing.TB, e *testkit.Env, name string) func() v1alpha1.OverridePhase {
	t.Helper()
	return func() v1alpha1.OverridePhase {
		o := &v1alpha1.DeletionOverride{}
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
			t.Errorf("get override: %v", err)
		}
		return o.Status.Phase
	}
}

// messageOf is what an override says about where it stands.
func messageOf(t testing.TB, e *testkit.Env, name string) string {
	t.Helper()
	return read(t, e, "{.status.message}", "dov", name)()
}

// stampOf is the override that an object says is in force for it.
func stampOf(t testing.TB, e *testkit.Env, o client.Object) func() string {
	t.Helper()
	kind, err := apiutil.GVKForObject(o, e.Client.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(kind)
		if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
			t.Errorf("get the target: %v", err)
		}
		return now.Labels[v1alpha1.OverrideMark]
	}
}

// tryDelete deletes an object as a dry run.
func tryDelete(ctx context.Context, c client.Client, o client.Object) error {
	return c.Delete(ctx, o.DeepCopyObject().(client.Object), client.DryRunAll)
}

func TestOverride_letsOneObjectGo(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, ns, user)
	e.Grant(t, ns, user, testkit.Rule("", []string{"configmaps"}, "delete"))
	tests := []struct {
		name   string
		labels []string
	}{
		{name: "strict", labels: []string{strict + "=Always"}},
		{name: "karmada", labels: []string{karmada + "=Always"}},
		{name: "kruise", labels: []string{kruise + "=Always"}},
		{name: "protection"},
		{name: "all-labels", labels: []string{strict + "=Always", karmada + "=Always", kruise + "=Always"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			name := ns + "-" + tt.name
			if len(tt.labels) == 0 {
				end := protect(t, e, name, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`, name: `+tt.name+`}]}]}`)
				defer end()
			}
			cm := configMap(t, e, ns, tt.name, tt.labels...)
			g.Eventually(func() bool { return apierrors.IsForbidden(tryDelete(t.Context(), c, cm)) }, "180s", "50ms").Should(gomega.BeTrue(), "it is not protected")
			endOverride := ask(t, e, c, overrideOf(t, e, name, user, cm))
			defer endOverride()

			g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.Equal(name))
			g.Expect(phase(t, e, name)()).To(gomega.Equal(v1alpha1.OverrideActive))
			// A dry run uses nothing up.
			for range 2 {
				if err := tryDelete(t.Context(), c, cm); err != nil {
					t.Fatalf("the override is in force, and the deletion was refused: %v", err)
				}
			}
			mustStand(t, e, cm)
			g.Consistently(phase(t, e, name), "1s", "100ms").Should(gomega.Equal(v1alpha1.OverrideActive))
			if err := c.Delete(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
			g.Eventually(phase(t, e, name), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
			g.Expect(messageOf(t, e, name)).To(gomega.Equal("the target was deleted while the override was in force"))

			again := configMap(t, e, ns, tt.name, tt.labels...)
			g.Eventually(func() bool { return apierrors.IsForbidden(tryDelete(t.Context(), c, again)) }, "180s", "50ms").Should(gomega.BeTrue(), "a new object of that name is not protected")
			g.Consistently(stampOf(t, e, again), "500ms", "50ms").Should(gomega.BeEmpty())
			g.Expect(phase(t, e, name)()).To(gomega.Equal(v1alpha1.OverrideUsed))
		})
	}
}

func TestOverride_ofWhatIsNotThereIsInvalid(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, "", user)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	tests := []struct {
		name   string
		change func(*v1alpha1.OverrideTarget)
		want   string
	}{
		{name: "uid", change: func(o *v1alpha1.OverrideTarget) { o.UID = "another" }, want: "spec.target: v1 ConfigMap x in namespace " + ns + " has another uid than another; ask again for the one that is there now"},
		{name: "name", change: func(o *v1alpha1.OverrideTarget) { o.Name = "y" }, want: "spec.target: there is no v1 ConfigMap y in namespace " + ns},
		{name: "namespace", change: func(o *v1alpha1.OverrideTarget) { o.Namespace = ns + "-none" }, want: "spec.target: there is no v1 ConfigMap x in namespace " + ns + "-none"},
		{name: "no-namespace", change: func(o *v1alpha1.OverrideTarget) { o.Namespace = "" }, want: "spec.target: there is no v1 ConfigMap x without a namespace"},
		{name: "group", change: func(o *v1alpha1.OverrideTarget) { o.APIVersion = "apps/v1" }, want: "spec.target: there is no apps/v1 ConfigMap x in namespace " + ns},
		{name: "kind", change: func(o *v1alpha1.OverrideTarget) { o.Kind = "Nothing" }, want: "spec.target: there is no v1 Nothing x in namespace " + ns},
	}
	for _, tt := range tests {
		name := ns + "-" + tt.name
		o := overrideOf(t, e, name, user, cm)
		tt.change(&o.Spec.Target)
		end := ask(t, e, c, o)
		g.Eventually(phase(t, e, name), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideInvalid), tt.name)
		g.Expect(messageOf(t, e, name)).To(gomega.Equal(tt.want), tt.name)
		end()
	}
	g.Expect(stampOf(t, e, cm)()).To(gomega.BeEmpty())
	if err := tryDelete(t.Context(), e.Client, cm); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a 403", err)
	}
	// What comes after an invalid override is none of its business.
	late := overrideOf(t, e, ns, user, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: ns, UID: "unknown"}})
	endLate := ask(t, e, c, late)
	defer endLate()
	g.Eventually(phase(t, e, ns), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideInvalid))
	o := configMap(t, e, ns, "late", strict+"=Always")
	g.Consistently(stampOf(t, e, o), "1s", "100ms").Should(gomega.BeEmpty())
}

func TestOverride_expires(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, ns, user)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	o := overrideOf(t, e, ns, user, cm)
	o.Spec.Duration = "10s"
	end := ask(t, e, c, o)
	defer end()

	g.Eventually(stampOf(t, e, cm), "180s", "20ms").Should(gomega.Equal(ns))
	if err := tryDelete(t.Context(), e.Client, cm); err != nil {
		t.Errorf("the override is in force, and the deletion was refused: %v", err)
	}
	g.Eventually(phase(t, e, ns), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideExpired))
	g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.BeEmpty())
	if err := tryDelete(t.Context(), e.Client, cm); !apierrors.IsForbidden(err) {
		t.Errorf("the override is over: got %v, want a 403", err)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	if got := o.Status.ExpiresAt.Sub(o.Status.ActiveFrom.Time); got != 10*time.Second {
		t.Errorf("it was in force for %s, want 10s", got)
	}
	g.Expect(o.Status.Message).To(gomega.Equal("it was not used in time; ask for another one"))
	done(t, e, "label", "configmap", "x", "-n", ns, "touched=")
	g.Consistently(stampOf(t, e, cm), "500ms", "50ms").Should(gomega.BeEmpty(), "the stamp comes back")
}

func TestOverride_deletedIsRetracted(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, ns, user)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	o := overrideOf(t, e, ns, user, cm)
	end := ask(t, e, c, o)
	defer end()
	g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.Equal(ns))
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.BeEmpty())
	if err := tryDelete(t.Context(), e.Client, cm); !apierrors.IsForbidden(err) {
		t.Errorf("the override was taken back: got %v, want a 403", err)
	}
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", "x", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
}
