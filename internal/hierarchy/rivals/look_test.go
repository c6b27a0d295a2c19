// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rivals_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rivals"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// counter counts requests.
type counter struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// counted is a client of a user, and how many requests it has made.
func counted(t *testing.T, e *testkit.Env, user string) (kubernetes.Interface, *atomic.Int64) {
	t.Helper()
	n := &atomic.Int64{}
	config := rest.CopyConfig(e.Config)
	config.Impersonate.UserName = user
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, n} })
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, n
}

const (
	// guard is Holdfast itself: what it is installed with has to be enough.
	guard = "system:serviceaccount:holdfast-system:holdfast-guard"
)

// webhooks of HNC that match nothing at all, so that they disturb nobody.
func webhooks(ns string) []client.Object {
	config := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: ns, Name: "hnc-webhook-service"}}
	never := &metav1.LabelSelector{MatchLabels: map[string]string{"test-rivals": "never"}}
	none := admissionregistrationv1.SideEffectClassNone
	return []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "hnc-validating-webhook-configuration"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "namespaces.hnc.x-k8s.io", ClientConfig: config, ObjectSelector: never, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}},
		},
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "renamed-by-somebody"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "namespacelabel.hnc.x-k8s.io", ClientConfig: config, ObjectSelector: never, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}},
		},
	}
}

func hnc(name, labels, image string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, labels: {` + labels + `}}, spec: {replicas: 1, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, image: "` + image + `"}]}}}}`
}

// TestWatcher follows one HNC from its arrival to its end. It is one test, since
// there is one HNC in a cluster.
func TestWatcher(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	t.Run("without the rights to look, Holdfast does not take itself for alone", func(t *testing.T) { withoutRights(t, e) })
	g := gomega.NewWithT(t)
	c, n := counted(t, e, guard)
	needed := &atomic.Bool{}
	changes := &atomic.Int64{}
	w := rivals.NewWatcher(rivals.Options{Client: c, Needed: needed.Load, Changed: func() { changes.Add(1) }, Pauses: timing.Production()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	reason := func(alone bool, want string) {
		t.Helper()
		g.Eventually(func() string {
			w.Wake()
			if w.Alone() != alone || len(w.Conditions()) != 1 {
				return ""
			}
			return w.Conditions()[0].Reason
		}, "180s", "200ms").Should(gomega.Equal(want), "%v", w.Verdict())
	}

	if w.Alone() || w.Conditions() != nil || n.Load() != 0 {
		t.Errorf("with trees off: alone %t, %v, %d requests", w.Alone(), w.Conditions(), n.Load())
	}
	needed.Store(true)
	reason(true, v1alpha1.ReasonAlone)

	ns := e.Namespace(t)
	e.Apply(t, ns, hnc("another", "control-plane: controller-manager", "example.com/another:v1"))
	reason(true, v1alpha1.ReasonAlone)

	// By its name without a label, by its image under another name.
	for _, manifest := range []string{
		hnc("hnc-controller-manager", "", "example.com/x:v1"), hnc("hnc-controller-manager-ha", "", "example.com/x:v1"),
		hnc("trees", "control-plane: controller-manager", "gcr.io/k8s-staging-multitenancy/hnc-manager:v1.1.0"),
	} {
		e.Apply(t, ns, manifest)
		reason(false, v1alpha1.ReasonHNCRuns)
		name := strings.Fields(strings.SplitAfter(manifest, "name: ")[1])[0]
		name = strings.TrimSuffix(name, ",")
		if !strings.Contains(w.Verdict().Why(), "Deployment "+ns+"/"+name) {
			t.Errorf("%s: %s", name, w.Verdict().Why())
		}
		run(t, e, "scale", "deployment", name, "--replicas=0", "-n", ns)
		reason(true, v1alpha1.ReasonAlone)
	}

	// Webhooks alone are in the way; answered, they are somebody.
	for _, o := range webhooks(ns) {
		if err := e.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.IgnoreNotFound(e.Client.Delete(context.WithoutCancel(t.Context()), o)) })
	}
	reason(true, v1alpha1.ReasonHNCLeftBehind)
	slice := func(ready string) {
		e.Apply(t, ns, `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s, labels: {kubernetes.io/service-name: hnc-webhook-service}},
			addressType: IPv4, endpoints: [{addresses: [10.0.0.1], conditions: {ready: `+ready+`}}]}`)
	}
	slice("true")
	reason(false, v1alpha1.ReasonHNCRuns)
	for _, want := range []string{"hnc-validating-webhook-configuration", "renamed-by-somebody", ns + "/hnc-webhook-service"} {
		if !strings.Contains(w.Verdict().Why(), want) {
			t.Errorf("%q is without %q", w.Verdict().Why(), want)
		}
	}
	before := n.Load()
	if _, err := rivals.Look(t.Context(), c); err != nil {
		t.Error(err)
	}
	// The watcher may have made a look of its own meanwhile.
	if made := n.Load() - before; made < 6 || made > 12 {
		t.Errorf("a look makes %d requests, want 6", made)
	}
	slice("false")
	reason(true, v1alpha1.ReasonHNCLeftBehind)
	for _, o := range webhooks(ns) {
		if err := e.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	reason(true, v1alpha1.ReasonAlone)
	if changes.Load() < 8 {
		t.Errorf("told of %d changes", changes.Load())
	}

	needed.Store(false)
	g.Eventually(func() bool { w.Wake(); return w.Alone() }, "180s", "100ms").Should(gomega.BeFalse(), "what was true need not be when it is asked next")
}

func withoutRights(t *testing.T, e *testkit.Env) {
	t.Helper()
	c, _ := counted(t, e, "test-rivals-nobody")
	w := rivals.NewWatcher(rivals.Options{Client: c, Needed: func() bool { return true }, Changed: func() {}, Pauses: timing.Production()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	gomega.NewWithT(t).Eventually(func() string { return w.Conditions()[0].Message }, "180s", "50ms").Should(gomega.ContainSubstring("cannot list resource \"deployments\""))
	if w.Alone() || w.Conditions()[0].Status != metav1.ConditionUnknown {
		t.Errorf("alone: %t, %v", w.Alone(), w.Conditions())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func run(t *testing.T, e *testkit.Env, args ...string) {
	t.Helper()
	if out := e.Kubectl(t, args...); out.Code != 0 {
		t.Fatalf("%v: %s", args, out.Stderr)
	}
}
