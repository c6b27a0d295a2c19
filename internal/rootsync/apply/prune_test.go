// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const noDelete = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rootsync-test}
spec:
  matchConstraints:
    objectSelector: {matchLabels: {rootsync-test: keep}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [DELETE]}]
  validations: [{expression: "false", message: "it is to stay", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rootsync-test}
spec: {policyName: rootsync-test, validationActions: [Deny]}
`

func TestEngine_aRefusedPruneStaysAndGoesOnceItMay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	r.e.Apply(t, "default", noDelete)
	t.Cleanup(func() {
		for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
			_ = r.e.Client.Delete(context.WithoutCancel(t.Context()), named("admissionregistration.k8s.io/v1/"+kind, "", "rootsync-test"))
		}
	})
	e := r.start("refused", nil)
	e.set("c1", configMap(ns, "stays", "v"), configMap(ns, "kept", "v"), configMap(ns, "goes", "v"))
	r.patch("v1/ConfigMap", ns, "kept", "{metadata: {labels: {rootsync-test: keep}}}")
	r.Eventually(func() string { // the API server takes a moment to act on a policy
		out := r.e.Kubectl(t, "delete", "configmap", "kept", "-n", ns, "--dry-run=server")
		return out.Stderr
	}, patience, "100ms").Should(gomega.ContainSubstring("it is to stay"))
	s := e.set("c2", configMap(ns, "stays", "v"))
	got := errorsOf(s)
	if len(got) != 1 || !strings.HasPrefix(got[0], "KNV2009: failed to prune ConfigMap, "+ns+"/kept: ") || !strings.HasSuffix(got[0], "it is to stay") {
		t.Errorf("got %v", got)
	}
	want := []string{"ConfigMap, " + ns + "/kept", "ConfigMap, " + ns + "/stays"}
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal(want))
	r.asked()

	t.Log("a change that changes nothing about it")
	r.patch("v1/ConfigMap", ns, "kept", "{data: {k: edited}}")
	r.patch("v1/ConfigMap", ns, "stays", "{data: {k: edited}}")
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "stays")) }, patience, often).Should(gomega.Equal("v"))
	if got := writes(r.asked()); len(got) != 1 {
		t.Errorf("got %v", got)
	}

	t.Log("another process")
	e = e.again()
	s = e.set("c2", configMap(ns, "stays", "v"))
	if got := errorsOf(s); len(got) != 1 {
		t.Errorf("got %v", got)
	}

	t.Log("it may go")
	r.patch("v1/ConfigMap", ns, "kept", "{metadata: {labels: {rootsync-test: null}}}")
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal(want[1:]))
}

func TestEngine_namespacesThatAreInUseStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	others := make(chan []string, 1)
	others <- []string{"RootSync x"}
	e := r.start("inuse", func(o *apply.Options) {
		o.InUse = func(id object.ID) apply.Use {
			if id.Name != "inuse-others" {
				return apply.Use{}
			}
			list := <-others
			others <- list
			return apply.Use{By: list}
		}
	})
	all := []string{namespace("inuse-own"), configMap("inuse-own", "a", "v"), namespace("inuse-others"), namespace("inuse-safe")}
	e.set("c1", all...)
	s := e.set("c2", all[1], all[3])
	want := []string{
		"KNV2009: skipped delete of Namespace, /inuse-others: namespace still in use: inuse-others, by RootSync x",
		"KNV2009: skipped delete of Namespace, /inuse-own: namespace still in use: inuse-own",
	}
	if diff := cmp.Diff(want, errorsOf(s)); diff != "" {
		t.Error(diff)
	}
	<-others
	others <- nil
	e.Observe(object.NamespaceID("inuse-others"))
	r.Eventually(e.errors, patience, often).Should(gomega.HaveLen(1))
	s = e.set("c3", all[3])
	if len(s.Errors) > 0 {
		t.Errorf("got %v", errorsOf(s))
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal([]string{"Namespace, /inuse-safe"}))
}

func TestEngine_refusesToTakeAllNamespacesAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.start("guard", nil)
	all := []string{namespace("guard-a"), namespace("guard-b"), configMap("guard-a", "x", "v")}
	e.set("c1", all...)
	for _, when := range []string{"at once", "after a restart"} {
		e.Set(timed(declared(t, configMap("guard-a", "x", "w")), "c2", "5s"))
		r.Eventually(e.errors, patience, often).Should(gomega.Equal([]string{
			"KNV2006: New commit would delete all Namespaces [guard-a guard-b]. If this is not a mistake, follow directions for safely deleting all Namespaces.",
		}), when)
		if got := dataOf(r.get("v1/ConfigMap", "guard-a", "x")); got != "v" {
			t.Errorf("%s: the commit was applied: %s", when, got)
		}
		e = e.again()
	}
	if s := e.set("c3", all[0]); len(s.Errors) > 0 {
		t.Errorf("got %v", errorsOf(s))
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal([]string{"Namespace, /guard-a"}))
}

func TestEngine_whatIsDetachedOrSpecialStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("detach", nil)
	const detach = "client.lifecycle.config.k8s.io/deletion: detach"
	e.set("c1", configMap(ns, "kept", "v", detach), configMap(ns, "kept-for-kpt", "v", "cli-utils.sigs.k8s.io/on-remove: keep"), configMap(ns, "taken", "v"), configMap(ns, "owned", "v"), namespace("kube-public"), namespace("detach-ns"))
	r.patch("v1/ConfigMap", ns, "owned", "{metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: "+ns+", uid: "+string(r.get("v1/Namespace", "", ns).GetUID())+"}]}}")
	other := r.start("detach-other", nil)
	other.set("o1", configMap(ns, "taken", "w"))
	s := e.set("c2", namespace("detach-ns"))
	if len(s.Errors) > 0 {
		t.Errorf("got %v", errorsOf(s))
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal([]string{"Namespace, /detach-ns"}))
	kept := r.get("v1/ConfigMap", ns, "kept")
	if dataOf(kept) != "v" || kept.GetAnnotations()[object.AnnotationManager] != "" || kept.GetAnnotations()[object.AnnotationDeletion] != "detach" || len(kept.GetLabels()) > 0 {
		t.Errorf("detached: %v", kept)
	}
	if got := r.get("v1/ConfigMap", ns, "kept-for-kpt"); dataOf(got) != "v" || got.GetAnnotations()[object.AnnotationManager] != "" {
		t.Errorf("detached as kpt does: %v", got)
	}
	if got := r.get("v1/ConfigMap", ns, "taken"); dataOf(got) != "w" || got.GetAnnotations()[object.AnnotationManager] != ":root_detach-other" {
		t.Errorf("another's: %v", got)
	}
	if got := r.get("v1/ConfigMap", ns, "owned"); dataOf(got) != "v" {
		t.Errorf("with an owner: %v", got)
	}
	if got := r.get("v1/Namespace", "", "kube-public"); got == nil || got.GetDeletionTimestamp() != nil || got.GetAnnotations()[object.AnnotationManager] != "" {
		t.Errorf("a special namespace: %v", got)
	}
}

func TestEngine_Remove(t *testing.T) {
	t.Parallel()
	for _, how := range []apply.Removal{apply.Foreground, apply.Orphan} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			name := "remove-" + strings.ToLower(string(how))
			e := r.start(object.Sync(name), nil)
			e.set("c1", namespace(name+"-a"), namespace(name+"-b"), configMap(name+"-a", "first", "v"),
				configMap(name+"-a", "second", "v", "config.kubernetes.io/depends-on: /namespaces/"+name+"-a/ConfigMap/first"))
			// What depends on what is read off the objects that go.
			r.watched(object.ID{Kind: "ConfigMap", Namespace: name + "-a", Name: "first"}, object.ID{Kind: "ConfigMap", Namespace: name + "-a", Name: "second"})
			r.asked()
			e.Remove(how, apply.Declaration{})
			r.Eventually(func() bool { return e.State().Removed }, patience, often).Should(gomega.BeTrue())
			if got := r.get("kpt.dev/v1alpha1/ResourceGroup", object.SyncNamespace, name); got != nil {
				t.Errorf("the inventory is there: %v", got)
			}
			got := r.get("v1/ConfigMap", name+"-a", "first")
			if how == apply.Orphan {
				if dataOf(got) != "v" || got.GetAnnotations()[object.AnnotationManager] != "" {
					t.Errorf("got %v", got)
				}
				return
			}
			if got != nil || r.get("v1/Namespace", "", name+"-b") != nil {
				t.Errorf("got %v", got)
			}
			order := slices.DeleteFunc(writes(r.asked()), func(q string) bool { return !strings.HasPrefix(q, "DELETE") || strings.HasSuffix(q, "-b") })
			want := []string{
				"DELETE /api/v1/namespaces/" + name + "-a/configmaps/second", "DELETE /api/v1/namespaces/" + name + "-a/configmaps/first",
				"DELETE /api/v1/namespaces/" + name + "-a",
			}
			if diff := cmp.Diff(want, order); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A caller that is woken by a removal asks for it again. What cannot be deleted yet is not begun anew each time, and the removal
// ends although the inventory could not be deleted at first.
func TestEngine_aRemovalThatWaitsIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	rc := rest.CopyConfig(r.e.Config)
	var refused atomic.Bool
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			if q.Method == http.MethodDelete && !refused.Swap(true) {
				return nil, errors.New("the connection broke")
			}
			return next.RoundTrip(q)
		})
	})
	e := r.start("again", func(o *apply.Options) { o.Inventory = must(dynamic.NewForConfig(rc))(t) })
	e.set("c1", configMap(ns, "held", "v"))
	r.patch("v1/ConfigMap", ns, "held", "{metadata: {finalizers: [example.com/held]}}")
	remove := func() { e.Remove(apply.Foreground, apply.Declaration{ReconcileTimeout: time.Second}) }
	remove()
	settled := func() bool { return e.State().Settled }
	r.Eventually(func() bool { return settled() && len(e.errors()) == 1 }, patience, soon).Should(gomega.BeTrue())
	for range 3 {
		remove()
		if !settled() {
			t.Error("it has begun again")
		}
	}
	r.patch("v1/ConfigMap", ns, "held", "{metadata: {finalizers: null}}")
	r.Eventually(func() bool { return e.State().Removed }, patience, soon).Should(gomega.BeTrue())
	if !refused.Load() {
		t.Error("the inventory was not deleted")
	}
}

// What is protected while it is in use has no label that would change when its use ends.
func TestEngine_aRefusedPruneGoesOnceItsSpecLetsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	const scaled = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, namespace: NS, labels: {holdfast.dev/deletion-protected: Cascading},
  annotations: {client.lifecycle.config.k8s.io/mutation: ignore}}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: none}]}}}}`
	e := r.start("scaled", nil)
	e.set("c1", strings.ReplaceAll(scaled, "NS", ns), configMap(ns, "stays", "v"))
	r.patch("apps/v1/Deployment", ns, "x", "{spec: {replicas: 1}}")
	got := errorsOf(e.set("c2", configMap(ns, "stays", "v")))
	if len(got) != 1 || !strings.HasPrefix(got[0], "KNV2009: failed to prune Deployment.apps, "+ns+"/x: ") {
		t.Errorf("got %v", got)
	}
	r.patch("apps/v1/Deployment", ns, "x", "{spec: {replicas: 0}}")
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal([]string{"ConfigMap, " + ns + "/stays"}))
}

// behind is a watch that delivers no event about an object until goOn.
type behind struct {
	live.Live
	mu   sync.Mutex
	held map[object.ID]*live.Seen
}

func (b *behind) Seen(id object.ID) (*live.Seen, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seen := b.held[id]; seen != nil {
		return seen, true
	}
	return b.Live.Seen(id)
}

func (b *behind) hold(id object.ID) {
	seen, _ := b.Live.Seen(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = map[object.ID]*live.Seen{id: seen}
}

func (b *behind) goOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = nil
}

func TestEngine_whatChangedBeforeItsDeletionIsDeletedOnceTheWatchShowsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	watch := &behind{Live: r.hub}
	e := r.start("behind", func(o *apply.Options) {
		o.Live = watch
		o.Pauses.RefusedAgain = time.Hour // a refusal would keep it
	})
	e.set("c1", configMap(ns, "stays", "v"), configMap(ns, "goes", "v"))
	goes := object.ID{Kind: "ConfigMap", Namespace: ns, Name: "goes"}
	r.watched(goes)
	watch.hold(goes)
	r.patch("v1/ConfigMap", ns, "goes", "{data: {k: edited}}")
	s := e.set("c2", configMap(ns, "stays", "v"))
	got := errorsOf(s)
	if len(got) != 1 || !strings.HasPrefix(got[0], "KNV2009: failed to prune ConfigMap, "+ns+"/goes: ") {
		t.Errorf("got %v", got)
	}
	watch.goOn()
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())
	if r.get("v1/ConfigMap", ns, "goes") != nil {
		t.Error("it is still there")
	}
}

// What takes long to go stands in the inventory as that, before it has taken too long.
func TestEngine_theInventorySaysWhatGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	e := r.start("going", nil)
	set := func(commit string, texts ...string) {
		d := timed(declared(t, texts...), commit, "10m")
		d.WithStatus = true
		e.Set(d)
	}
	set("c1", configMap(ns, "kept", "v"), configMap(ns, "held", "v"))
	e.settled("c1")
	r.patch("v1/ConfigMap", ns, "held", "{metadata: {finalizers: [example.com/held]}}")
	set("c2", configMap(ns, "kept", "v"))
	r.Eventually(e.statuses, patience, often).Should(gomega.ConsistOf(
		gomega.HavePrefix("kept Current Apply Succeeded Succeeded"), gomega.HavePrefix("held Terminating Delete Succeeded Pending")))
	r.patch("v1/ConfigMap", ns, "held", "{metadata: {finalizers: null}}")
	e.settled("c2")
	r.Eventually(e.statuses, patience, often).Should(gomega.ConsistOf(gomega.HavePrefix("kept Current Apply Succeeded Succeeded")))
}
