// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/watch"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

var (
	configMaps  = schema.GroupKind{Kind: "ConfigMap"}
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	widgets     = schema.GroupKind{Group: "hub.example.org", Kind: "Widget"}
)

// rig is a Hub, and what it asks of the API server.
type rig struct {
	*gomega.WithT
	*watch.Hub
	e *testkit.Env

	mu      sync.Mutex
	watches map[string]int
	whole   []string
	changed map[object.ID]int
}

func newRig(t *testing.T, e *testkit.Env) *rig {
	t.Helper()
	r := &rig{WithT: gomega.NewWithT(t), e: e, watches: map[string]int{}, changed: map[object.ID]int{}}
	rc := rest.CopyConfig(r.e.Config)
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			r.count(q)
			return next.RoundTrip(q)
		})
	})
	d, m := must(dynamic.NewForConfig(rc))(t), must(metadata.NewForConfig(rc))(t)
	kinds := inventory.NewKinds(must(discovery.NewDiscoveryClientForConfig(rc))(t), d, m)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = kinds.Start(ctx)
	}()
	r.Hub = watch.New(watch.Options{
		Dynamic: d, Metadata: m, Kinds: kinds.Current, Pauses: testkit.Pauses(),
		Changed: func(id object.ID) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.changed[id]++
		},
		Synced: func(schema.GroupKind) {},
	})
	t.Cleanup(func() {
		cancel()
		<-done
		r.Wait()
	})
	r.Eventually(kinds.Current, "180s", "20ms").ShouldNot(gomega.BeNil())
	kinds.OnChange(func() { _ = r.Refresh(ctx) })
	return r
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// count counts the watches of what is labelled, by the resource.
func (r *rig) count(q *http.Request) {
	if !strings.Contains(q.URL.RawQuery, "labelSelector=applyset") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	resource := q.URL.Path[strings.LastIndex(q.URL.Path, "/")+1:]
	if strings.Contains(q.URL.RawQuery, "watch=true") {
		r.watches[resource]++
	}
	if !strings.Contains(q.Header.Get("Accept"), "PartialObjectMetadata") {
		r.whole = append(r.whole, resource)
	}
}

func (r *rig) seen(id object.ID) func() *live.Seen {
	return func() *live.Seen {
		s, _ := r.Seen(id)
		return s
	}
}

func managed(api, kind, namespace, name, spec string) string {
	return `{apiVersion: ` + api + `, kind: ` + kind + `, metadata: {name: ` + name + `, namespace: ` + namespace +
		`, labels: {applyset.kubernetes.io/part-of: x}, annotations: {configmanagement.gke.io/managed: enabled, configsync.gke.io/manager: ":root_x",` +
		` configsync.gke.io/resource-id: _configmap_` + namespace + `_` + name + `}}` + spec + `}`
}

func TestHub(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{NotInstalled: true})
	t.Run("has one watch for each kind, whoever follows it", func(t *testing.T) { oneWatch(t, newRig(t, e)) })
	t.Run("follows kinds that come and go", func(t *testing.T) { comesAndGoes(t, newRig(t, e)) })
}

func oneWatch(t *testing.T, r *rig) {
	t.Helper()
	ns := r.e.Namespace(t)
	one := object.ID{Kind: "ConfigMap", Namespace: ns, Name: "one"}
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}
	if _, known := r.Seen(one); known {
		t.Error("it knows of a kind that nobody follows")
	}
	r.e.Apply(t, ns, managed("v1", "ConfigMap", ns, "one", ""))
	r.e.Apply(t, ns, managed("apps/v1", "Deployment", ns, "web", `, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}`))
	for _, s := range []object.Sync{"a", "b", "c"} {
		r.Expect(r.Follow(t.Context(), s, sets.New(configMaps, deployments))).To(gomega.Succeed())
	}
	r.Eventually(r.seen(one), "180s", "20ms").ShouldNot(gomega.BeNil())
	r.Eventually(r.seen(web), "180s", "20ms").ShouldNot(gomega.BeNil())
	got, _ := r.Seen(one)
	if got.Manager != ":root_x" || got.Status != "" {
		t.Errorf("a ConfigMap: %+v", got)
	}
	if got, _ := r.Seen(web); got.Status != status.InProgressStatus {
		t.Errorf("a Deployment that nobody has looked at: %+v", got)
	}
	if got, known := r.Seen(object.ID{Kind: "ConfigMap", Namespace: ns, Name: "other"}); got != nil || !known {
		t.Errorf("what is not there: %v, %t", got, known)
	}
	r.mu.Lock()
	if r.watches["configmaps"] != 1 || r.watches["deployments"] != 1 {
		t.Errorf("watches: %v", r.watches)
	}
	for _, resource := range r.whole {
		if resource == "configmaps" {
			t.Error("the content of ConfigMaps was read")
		}
	}
	r.mu.Unlock()

	// What loses the label is as if it were not there, until it has it again.
	r.e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}`)
	r.Eventually(r.seen(one), "180s", "20ms").Should(gomega.BeNil())
	r.Eventually(func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.changed[one]
	}, "180s", "20ms").Should(gomega.BeNumerically(">=", 2))

	// The last who follows a kind ends its watch.
	for _, s := range []object.Sync{"a", "b"} {
		r.Expect(r.Follow(t.Context(), s, nil)).To(gomega.Succeed())
	}
	if diff := cmp.Diff(2, len(r.Watched())); diff != "" {
		t.Error(diff)
	}
	r.Expect(r.Follow(t.Context(), "c", sets.New(configMaps))).To(gomega.Succeed())
	if diff := cmp.Diff([]schema.GroupKind{configMaps}, r.Watched()); diff != "" {
		t.Error(diff)
	}
	if _, known := r.Seen(web); known {
		t.Error("it still knows of a kind that nobody follows")
	}
}

func comesAndGoes(t *testing.T, r *rig) {
	t.Helper()
	ns := r.e.Namespace(t)
	r.Expect(r.Follow(t.Context(), "a", sets.New(widgets))).To(gomega.Succeed())
	one := object.ID{Group: widgets.Group, Kind: widgets.Kind, Namespace: ns, Name: "one"}
	crd := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.hub.example.org}, spec: {group: hub.example.org, scope: Namespaced,
		names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
	r.e.Apply(t, "", crd)
	r.Eventually(func() bool { _, known := r.Seen(one); return known }, "180s", "20ms").Should(gomega.BeTrue())
	r.e.Apply(t, ns, managed("hub.example.org/v1", "Widget", ns, "one", ""))
	r.Eventually(r.seen(one), "180s", "20ms").ShouldNot(gomega.BeNil())
	r.Expect(r.e.Kubectl(t, "delete", "crd", "widgets.hub.example.org").Code).To(gomega.Equal(0))
	r.Eventually(func() bool { _, known := r.Seen(one); return known }, "180s", "20ms").Should(gomega.BeFalse())
}

func TestHub_beforeItIsKnownWhatIsServed(t *testing.T) {
	t.Parallel()
	h := watch.New(watch.Options{Kinds: func() *inventory.Snapshot { return nil }})
	if err := h.Follow(t.Context(), "a", sets.New(schema.GroupKind{Kind: "ConfigMap"})); err != nil {
		t.Fatal(err)
	}
	if _, known := h.Seen(object.ID{Kind: "ConfigMap", Namespace: "n", Name: "x"}); known {
		t.Error("something is known")
	}
}
