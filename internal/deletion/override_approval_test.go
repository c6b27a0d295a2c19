// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestOverride_waitsForASecondPerson(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: configured(t, "deletion: {overrides: {approval: Required, maxDuration: 2h}}")})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	// Whoever asks need not have the right that whoever consents needs.
	for _, user := range []string{"alice", "bob", "carol"} {
		e.Grant(t, "", user, testkit.Rule(v1alpha1.GroupName, []string{"deletionoverrides"}, "create", "patch"))
	}
	mayUnprotect(t, e, ns, "bob")
	mayUnprotect(t, e, ns, "dave")
	consent := func(user, name string) error {
		o := &v1alpha1.DeletionOverride{}
		o.Name = "x"
		return e.As(t, user).Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approvedBy":"`+name+`"}}`)))
	}
	o := overrideOf(t, e, "x", "alice", cm)
	o.Spec.Duration = "2h"
	ask(t, e, e.As(t, "alice"), o)

	g.Eventually(phase(t, e, "x"), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideWaiting))
	g.Expect(messageOf(t, e, "x")).To(gomega.Equal("a second person must consent, who may unprotect the target: kubectl holdfast override approve x"))
	g.Consistently(stampOf(t, e, cm), "1s", "100ms").Should(gomega.BeEmpty())
	if err := tryDelete(t.Context(), e.Client, cm); !apierrors.IsForbidden(err) {
		t.Errorf("before consent: got %v, want a 403", err)
	}
	for _, tt := range []struct{ name, user, as, want string }{
		{name: "whoever asks", user: "alice", as: "alice", want: "whoever asks for an override cannot consent to it; a second person must"},
		{name: "whoever asks, in another name", user: "alice", as: "bob", want: "spec.approvedBy must be the name of whoever consents: alice"},
		{name: "a second person without the right to unprotect", user: "carol", as: "carol", want: `to consent to an override needs the RBAC verb "unprotect"`},
		{name: "a second person in another name", user: "bob", as: "dave", want: "spec.approvedBy must be the name of whoever consents: bob"},
		{name: "one who may not write overrides", user: "dave", as: "dave", want: `cannot patch resource "deletionoverrides"`},
	} {
		if err := consent(tt.user, tt.as); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("consent by %s: got %v, want a 403 with %q", tt.name, err, tt.want)
		}
	}
	g.Expect(phase(t, e, "x")()).To(gomega.Equal(v1alpha1.OverrideWaiting))

	if err := consent("bob", "bob"); err != nil {
		t.Fatalf("a second person consents: %v", err)
	}
	g.Eventually(phase(t, e, "x"), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideActive))
	g.Eventually(stampOf(t, e, cm), "180s", "50ms").Should(gomega.Equal("x"))
	// For whoever may delete it, not for whoever asked.
	if err := e.As(t, "alice").Delete(t.Context(), cm); !apierrors.IsForbidden(err) {
		t.Errorf("by one who may not delete ConfigMaps: got %v, want a 403", err)
	}
	if err := e.Client.Delete(t.Context(), cm); err != nil {
		t.Errorf("after consent: %v", err)
	}
	g.Eventually(phase(t, e, "x"), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
	g.Expect(e.Kubectl(t, "get", "dov", "x", "--no-headers").Stdout).To(gomega.MatchRegexp(`^x +ConfigMap +` + ns + ` +x +Used +alice +bob +20`))
}

func TestOverride_withHoldfastDown(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	c := asker(t, e, ns, "alice")
	made := map[string]*corev1.ConfigMap{}
	for name, duration := range map[string]string{"long": "10m", "short": "10s", "retracted": "10m", "used": "10m"} {
		made[name] = configMap(t, e, ns, name, strict+"=Always")
		o := overrideOf(t, e, name, "alice", made[name])
		o.Spec.Duration = duration
		ask(t, e, c, o)
	}
	for name, cm := range made {
		g.Eventually(stampOf(t, e, cm), "180s", "20ms").Should(gomega.Equal(name))
	}
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, cm := range made {
		if err := tryDelete(t.Context(), e.Client, cm); err != nil {
			t.Errorf("%s, while Holdfast is down: %v", name, err)
		}
	}
	done(t, e, "delete", "dov", "retracted")
	done(t, e, "delete", "configmap", "used", "-n", ns)
	// What ends while nobody is there to end it.
	short := &v1alpha1.DeletionOverride{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "short"}, short); err != nil {
		t.Fatal(err)
	}
	g.Eventually(time.Now, "180s", "100ms").Should(gomega.BeTemporally(">", short.Status.ExpiresAt.Time))
	version := func() string {
		return e.Kubectl(t, "get", "configmap", "long", "-n", ns, "-o", "jsonpath={.metadata.resourceVersion}").Stdout
	}
	before := version()

	e.Manager = e.StartManager(t)
	g.Eventually(phase(t, e, "short"), "180s", "100ms").Should(gomega.Equal(v1alpha1.OverrideExpired))
	for _, name := range []string{"short", "retracted"} {
		g.Eventually(stampOf(t, e, made[name]), "180s", "50ms").Should(gomega.BeEmpty(), name)
		if err := tryDelete(t.Context(), e.Client, made[name]); !apierrors.IsForbidden(err) {
			t.Errorf("%s, after Holdfast came back: got %v, want a 403", name, err)
		}
	}
	g.Eventually(phase(t, e, "used"), "180s", "100ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
	g.Consistently(version, "2s", "100ms").Should(gomega.Equal(before), "the restart wrote to the target of an override that stays in force")
	g.Expect(phase(t, e, "long")()).To(gomega.Equal(v1alpha1.OverrideActive))
	// The new leader ends it as the old one would have.
	done(t, e, "delete", "dov", "long")
	g.Eventually(stampOf(t, e, made["long"]), "180s", "50ms").Should(gomega.BeEmpty())
}
