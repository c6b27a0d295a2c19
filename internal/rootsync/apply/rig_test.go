// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/watch"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) {
	os.Exit(testkit.RunWith(m, testkit.Options{Manifests: []string{"config/crd/configsync"}}))
}

const (
	// patience is for failures alone.
	patience = "180s"
	often    = "100ms" // for what the API server is asked for
	soon     = "10ms"  // for what an Engine says
)

// rig has Engines on the shared cluster, and counts what they ask of it.
type rig struct {
	*gomega.WithT
	t     *testing.T
	e     *testkit.Env
	ctx   context.Context
	hub   *watch.Hub
	kinds *inventory.Kinds

	mu       sync.Mutex
	engines  map[*engine]bool
	requests []string
	// crash ends an Engine at a request: left counts down to it.
	left  int
	crash func()
}

// engine is one that runs.
type engine struct {
	*apply.Engine
	r    *rig
	sync object.Sync
	// stop ends it, and cancel does not wait for that.
	stop, cancel func()
	o            apply.Options
}

func newRig(t *testing.T) *rig {
	t.Helper()
	e := testkit.Shared(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.SyncNamespace}}
	if err := e.Client.Create(t.Context(), ns); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{WithT: gomega.NewWithT(t), t: t, e: e, ctx: ctx, engines: map[*engine]bool{}}
	d, m := must(dynamic.NewForConfig(e.Config))(t), must(metadata.NewForConfig(e.Config))(t)
	r.kinds = inventory.NewKinds(must(discovery.NewDiscoveryClientForConfig(e.Config))(t), d, m)
	r.hub = watch.New(watch.Options{
		Dynamic: d, Metadata: m, Kinds: r.kinds.Current, Pauses: testkit.Pauses(),
		Changed: func(id object.ID) { r.each(func(e *engine) { e.Observe(id) }) },
		Synced:  func(gk schema.GroupKind) { r.each(func(e *engine) { e.ObserveKind(gk) }) },
	})
	namespaces := metadatainformer.NewFilteredMetadataInformer(m, corev1.SchemeGroupVersion.WithResource("namespaces"), "", 0, cache.Indexers{}, nil).Informer()
	_, _ = namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		r.each(func(e *engine) { e.ObserveNamespace(o.(*metav1.PartialObjectMetadata).Name) })
	}})
	var done sync.WaitGroup
	done.Go(func() { _ = r.kinds.Start(ctx) })
	done.Go(func() { namespaces.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		done.Wait()
		r.hub.Wait()
	})
	r.Eventually(r.kinds.Current, patience, often).ShouldNot(gomega.BeNil())
	r.kinds.OnChange(func() {
		_ = r.hub.Refresh(ctx)
		r.each(func(e *engine) { e.ObserveKinds() })
	})
	return r
}

func (r *rig) each(do func(*engine)) {
	r.mu.Lock()
	list := slices.Collect(maps.Keys(r.engines))
	r.mu.Unlock()
	for _, e := range list {
		do(e)
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// counted is a client of which the requests are counted; it is another user's if one is
// named.
func (r *rig) counted(user string) dynamic.Interface {
	rc := rest.CopyConfig(r.e.Config)
	rc.Impersonate.UserName = user
	rc.QPS = -1
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			what := q.Method + " " + q.URL.Path
			if strings.Contains(q.URL.RawQuery, "dryRun") {
				what = "DRYRUN " + q.URL.Path
			}
			r.mu.Lock()
			r.requests = append(r.requests, what)
			r.mu.Unlock()
			r.countDown()
			a, err := next.RoundTrip(q)
			r.countDown()
			return a, err
		})
	})
	return must(dynamic.NewForConfig(rc))(r.t)
}

func (r *rig) countDown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left--
	if r.left == 0 {
		r.crash()
	}
}

// asked are the requests since it was called last.
func (r *rig) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.requests
	r.requests = nil
	return out
}

// writes are those that change objects.
func writes(requests []string) (out []string) {
	for _, q := range requests {
		if !strings.HasPrefix(q, "GET ") && !strings.HasPrefix(q, "DRYRUN ") && !strings.Contains(q, "/resourcegroups") {
			out = append(out, q)
		}
	}
	return out
}

// start runs an Engine that follows some kinds beside the usual ones.
func (r *rig) start(name object.Sync, change func(*apply.Options), kinds ...schema.GroupKind) *engine {
	r.t.Helper()
	all := sets.New(kinds...).Insert(
		schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "Secret"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, schema.GroupKind{Group: "apps", Kind: "Deployment"},
	)
	if err := r.hub.Follow(r.ctx, name, all); err != nil {
		r.t.Fatal(err)
	}
	o := apply.Options{
		Sync: name, Client: r.counted(""), Kinds: r.kinds.Current, Live: r.hub, Slots: semaphore.NewWeighted(16), Clock: clock.RealClock{}, Pauses: testkit.Pauses(),
		Standing: ownedBy(func(id object.ID) object.Sync {
			if id.IsNamespace() {
				return "" // whose it is would go with the declaration
			}
			return name
		}),
	}
	if change != nil {
		change(&o)
	}
	e := &engine{Engine: apply.New(o), r: r, sync: name, o: o}
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan struct{})
	r.mu.Lock()
	r.engines[e] = true
	r.mu.Unlock()
	go func() {
		defer close(done)
		e.Run(ctx)
	}()
	e.cancel = cancel
	e.stop = func() {
		cancel()
		<-done
		r.mu.Lock()
		delete(r.engines, e)
		r.mu.Unlock()
	}
	r.t.Cleanup(func() {
		e.stop()
		e.takeAway(context.WithoutCancel(r.ctx))
	})
	return e
}

// takeAway deletes what belongs to no namespace of a test, so that another test, or the
// owner of the cluster, finds nothing of it.
func (e *engine) takeAway(ctx context.Context) {
	s := group.New(must(dynamic.NewForConfig(e.r.e.Config))(e.r.t), e.sync)
	if err := s.Load(ctx); err != nil {
		e.r.t.Error(err)
	}
	objects := []client.Object{named("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, string(e.sync))}
	for _, id := range s.IDs() {
		if id.IsNamespace() && id.Name != "kube-public" {
			objects = append(objects, named("v1/Namespace", "", id.Name))
		}
		if id.Kind == "CustomResourceDefinition" {
			objects = append(objects, named("apiextensions.k8s.io/v1/CustomResourceDefinition", "", id.Name))
		}
	}
	for _, o := range objects {
		if err := e.r.e.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			e.r.t.Error(err)
		}
	}
}

// again starts another Engine in the place of one that was stopped.
func (e *engine) again(kinds ...schema.GroupKind) *engine {
	e.r.t.Helper()
	e.stop()
	return e.r.start(e.sync, func(o *apply.Options) { *o = e.o }, kinds...)
}

// declared are objects of YAML.
func declared(t *testing.T, texts ...string) (out []object.Declared) {
	t.Helper()
	for i, text := range texts {
		u := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = u.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, object.Declared{Object: u, Path: fmt.Sprintf("%03d.yaml", i)})
	}
	return out
}

func version(commit string) object.Version {
	return object.Version{Commit: commit, Context: `{"repo":"r"}`}
}

// set declares, and waits until all is tried.
func (e *engine) set(commit string, texts ...string) apply.State {
	e.r.t.Helper()
	e.Set(apply.Declaration{Objects: declared(e.r.t, texts...), Version: version(commit), ReconcileTimeout: 30 * time.Second})
	return e.settled(commit)
}

func (e *engine) settled(commit string) (s apply.State) {
	e.r.t.Helper()
	e.r.Eventually(func() bool {
		s = e.State()
		return s.Settled && (s.Version.Commit == commit || commit == "")
	}, patience, soon).Should(gomega.BeTrue(), "%+v", &s)
	return s
}

func errorsOf(s apply.State) (out []string) {
	for _, err := range s.Errors {
		out = append(out, err.Error())
	}
	return out
}

// errors are those of an Engine now.
func (e *engine) errors() []string { return errorsOf(e.State()) }

// inventory is what the ResourceGroup has.
func (e *engine) inventory() (out []string) {
	s := group.New(must(dynamic.NewForConfig(e.r.e.Config))(e.r.t), e.sync)
	if err := s.Load(e.r.t.Context()); err != nil {
		return []string{err.Error()}
	}
	for _, id := range s.IDs() {
		out = append(out, id.String())
	}
	return out
}

// named names an object by "version/Kind" or "group/version/Kind".
func named(gvk, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	i := strings.LastIndex(gvk, "/")
	u.SetGroupVersionKind(schema.FromAPIVersionAndKind(gvk[:i], gvk[i+1:]))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (r *rig) get(gvk, namespace, name string) *unstructured.Unstructured {
	r.t.Helper()
	u := named(gvk, namespace, name)
	if err := r.e.Client.Get(r.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		r.t.Fatal(err)
	}
	return u
}

// patch is what somebody else does.
func (r *rig) patch(gvk, namespace, name, text string) {
	r.t.Helper()
	u := named(gvk, namespace, name)
	data := must(yaml.YAMLToJSON([]byte(text)))(r.t)
	if err := r.e.Client.Patch(r.t.Context(), u, client.RawPatch("application/merge-patch+json", data), client.FieldOwner("somebody")); err != nil {
		r.t.Fatal(err)
	}
}

func namespace(name string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}"
}

func configMap(namespace, name, value string, annotations ...string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: " + namespace + ", annotations: {" + strings.Join(annotations, ", ") + "}}, data: {k: " + value + "}}"
}

func dataOf(u *unstructured.Unstructured) string {
	if u == nil {
		return "none"
	}
	s, _, _ := unstructured.NestedString(u.Object, "data", "k")
	return s
}

func exact(objects []object.Declared, commit string) apply.Declaration {
	return apply.Declaration{Objects: objects, Version: version(commit), Exact: true}
}

func timed(objects []object.Declared, commit, timeout string) apply.Declaration {
	d, err := time.ParseDuration(timeout)
	if err != nil {
		panic(err)
	}
	return apply.Declaration{Objects: objects, Version: version(commit), ReconcileTimeout: d}
}

func (r *rig) patchStatus(u *unstructured.Unstructured, text string) {
	r.t.Helper()
	data := must(yaml.YAMLToJSON([]byte(text)))(r.t)
	if err := r.e.Client.Status().Patch(r.t.Context(), u, client.RawPatch("application/merge-patch+json", data), client.FieldOwner("kubelet")); err != nil {
		r.t.Fatal(err)
	}
}

// blind knows nothing.
type blind struct{}

func (blind) Seen(object.ID) (*live.Seen, bool) { return nil, false }
