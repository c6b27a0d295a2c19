// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	// patience is for failures alone.
	patience = 180 * time.Second
	often    = 50 * time.Millisecond

	// rounds is how often a tool that has nothing to do syncs again.
	rounds = 3

	// appLabel is on every object of a manifest.
	appLabel = "app"
	always   = v1alpha1.DeletionProtectedLabel + ": Always"
	// stray are marks that are bound to no object, as of a manifest that was exported from a cluster.
	stray = v1alpha1.MarkedLabel + ": 00000000-0000-0000-0000-000000000000, " + v1alpha1.ProtectedByMark + ": x"
)

// rig is a namespace with a tool that syncs into it.
type rig struct {
	*testkit.Env
	tool
	t         *testing.T
	namespace string
	events    watch.Interface
	// writes has, for each object, what it carried after each write, and versions the resource version of the last.
	writes   map[string][]string
	versions map[string]string
	settles  int
}

func newRig(t *testing.T, s setup) *rig {
	t.Helper()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	c, err := client.NewWithWatch(e.Config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Stop)
	return &rig{Env: e, tool: s.make(t, e, ns), t: t, namespace: ns, events: events, writes: map[string][]string{}, versions: map[string]string{}}
}

// manifest is one of a ConfigMap with the data {v: value} and with labels written "key: value".
func (r *rig) manifest(name, value string, labels ...string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: %s, name: %s, labels: {%s}}, data: {v: %q}}",
		r.namespace, name, strings.Join(append([]string{appLabel + ": web"}, labels...), ", "), value)
}

func decode(t testing.TB, manifests ...string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for _, m := range manifests {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(m), &o.Object); err != nil {
			t.Fatalf("decode %s: %v", m, err)
		}
		objects = append(objects, o)
	}
	return objects
}

// mustSync fails the test unless the tool reports exactly this.
func (r *rig) mustSync(want report, manifests ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.sync(r.t, manifests...)); diff != "" {
		r.t.Errorf("the tool reports (-want +got):\n%s", diff)
	}
}

// mustSucceed fails the test if the tool reports an error of a sync.
func (r *rig) mustSucceed(manifests ...string) {
	r.t.Helper()
	out := r.sync(r.t, manifests...)
	if out.Error != "" {
		r.t.Errorf("the tool reports: %s", out.Error)
	}
	for name, message := range out.Objects {
		if strings.HasPrefix(message, failed) {
			r.t.Errorf("the tool reports of %s: %s", name, message)
		}
	}
}

// get returns a ConfigMap of the namespace.
func (r *rig) get(name string) *corev1.ConfigMap {
	r.t.Helper()
	o := &corev1.ConfigMap{}
	if err := r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, o); err != nil {
		r.t.Fatal(err)
	}
	return o
}

// awaitStored waits until these are the objects of manifests, as "name=value". Argo CD deletes in the foreground, so that
// the garbage collector ends a prune.
func (r *rig) awaitStored(want ...string) {
	r.t.Helper()
	gomega.NewWithT(r.t).Eventually(func() string {
		var all corev1.ConfigMapList
		if err := r.Client.List(r.t.Context(), &all, client.InNamespace(r.namespace), client.HasLabels{appLabel}); err != nil {
			r.t.Fatal(err)
		}
		var got []string
		for i := range all.Items {
			got = append(got, all.Items[i].Name+"="+all.Items[i].Data["v"])
		}
		return cmp.Diff(want, got)
	}, patience, often).Should(gomega.BeEmpty())
}

// marks are those of an object: "none", "bound" or "stray".
func marks(o *corev1.ConfigMap) string {
	switch _, carries := o.Labels[v1alpha1.MarkedLabel]; {
	case !carries:
		return "none"
	case v1alpha1.Marked(o):
		return "bound"
	default:
		return "stray"
	}
}

// awaitMarks waits until an object carries such marks.
func (r *rig) awaitMarks(name, want string) {
	r.t.Helper()
	gomega.NewWithT(r.t).Eventually(func() string { return marks(r.get(name)) }, patience, often).Should(gomega.Equal(want), name)
}

// written returns the marks of an object after each write that changed it, by any user.
func (r *rig) written(name string) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for live := r.get(name); r.versions[name] != live.ResourceVersion; {
		select {
		case event, ok := <-r.events.ResultChan():
			o, isConfigMap := event.Object.(*corev1.ConfigMap)
			if !ok || !isConfigMap {
				r.t.Fatalf("the watch ends: %v", event)
			}
			if r.versions[o.Name] != o.ResourceVersion {
				r.versions[o.Name] = o.ResourceVersion
				r.writes[o.Name] = append(r.writes[o.Name], marks(o))
			}
		case <-ctx.Done():
			r.t.Fatalf("the watch does not come to version %s of %s", live.ResourceVersion, name)
		}
	}
	return r.writes[name]
}

func (r *rig) mustHaveWritten(name string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.written(name)); diff != "" {
		r.t.Errorf("the marks of %s after each write (-want +got):\n%s", name, diff)
	}
}

// mustHaveMarked is mustHaveWritten without the writes that have changed no marks.
func (r *rig) mustHaveMarked(name string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, slices.Compact(slices.Clone(r.written(name)))); diff != "" {
		r.t.Errorf("the changes of the marks of %s (-want +got):\n%s", name, diff)
	}
}

// settle waits until Holdfast has removed stray marks that are newer than everything else in the namespace. It had the
// same time to write to the other objects.
func (r *rig) settle() {
	r.t.Helper()
	r.settles++
	name := fmt.Sprintf("settle-%d", r.settles)
	r.Apply(r.t, r.namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {%s}}}", name, stray))
	r.awaitMarks(name, "none")
}

// protect makes a ResourceDeletionProtection of an object, which there may be later, and waits until Holdfast knows it.
func (r *rig) protect(name string) {
	r.t.Helper()
	r.Apply(r.t, "", fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: %[1]s}, spec: {
		protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: %[1]s, name: %[2]s}]}]}}`, r.namespace, name))
	p := &v1alpha1.ResourceDeletionProtection{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	r.t.Cleanup(func() {
		if err := r.Client.Delete(context.WithoutCancel(r.t.Context()), p); client.IgnoreNotFound(err) != nil {
			r.t.Error(err)
		}
	})
	gomega.NewWithT(r.t).Eventually(func() (int64, error) {
		err := r.Client.Get(r.t.Context(), client.ObjectKeyFromObject(p), p)
		return p.Status.ObservedGeneration, err
	}, patience, often).Should(gomega.Equal(int64(1)))
}
