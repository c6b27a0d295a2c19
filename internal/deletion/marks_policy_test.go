// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// protectOne makes a ResourceDeletionProtection of one object, with the name of
// the namespace, and waits until the object is marked.
func protectOne(t testing.TB, e *testkit.Env, ns, apiVersion, kind, name string) {
	t.Helper()
	e.Apply(t, "", fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: %[1]s}, spec: {message: ask Ann,
		protectedResources: [{resourceSelector: [{apiVersion: %[2]s, kind: %[3]s, namespace: %[1]s, name: %[4]s}]}]}}`, ns, apiVersion, kind, name))
	t.Cleanup(func() {
		_ = client.IgnoreNotFound(e.Client.Delete(context.WithoutCancel(t.Context()), &v1alpha1.ResourceDeletionProtection{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	})
	gomega.NewWithT(t).Eventually(label(t, e, v1alpha1.ProtectedByMark, kind, name, "-n", ns), "180s", "50ms").
		Should(gomega.Equal(ns), "%s/%s is not marked", kind, name)
}

// refusedMark fails the test unless a request was refused because of a mark.
func refusedMark(t testing.TB, what string, err error) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+marks.PolicyName) {
		t.Errorf("%s: got %v, want a 403 by %s", what, err, marks.PolicyName)
	}
}

// marked returns labels with a mark that is bound to a UID.
func marked(uid types.UID, key string) map[string]string {
	return map[string]string{v1alpha1.MarkedLabel: string(uid), key: "x"}
}

// markRequest binds a mark to an object.
type markRequest struct {
	name   string
	object client.Object
	do     func(key string) error
	// bindings are requests that a policy refuses even while Holdfast runs.
	binding bool
}

// markRequests are all requests by which a user with all rights, and with the right to unprotect, could bind marks.
func markRequests(t *testing.T, e *testkit.Env) []markRequest {
	t.Helper()
	ns := e.Namespace(t)
	user := "unprotector-" + ns // the right to remove marks does not include setting them
	everything(t, e, user)
	mayUnprotect(t, e, "", user)
	c := e.As(t, user)
	e.Apply(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}`)
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	there, service, pod := configMap(t, e, ns, "there"), &corev1.Service{ObjectMeta: meta("s")}, &corev1.Pod{ObjectMeta: meta("p")}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	for _, o := range []client.Object{service, pod, namespace} {
		if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
	}
	labels := func(o client.Object, key string) client.Patch {
		return mergeLabels(map[string]any{v1alpha1.MarkedLabel: string(o.GetUID()), key: "x"})
	}
	return []markRequest{
		{name: "PATCH", object: there, do: func(key string) error {
			return c.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: meta("there")}, labels(there, key))
		}},
		{name: "PUT", object: there, do: func(key string) error {
			o := &corev1.ConfigMap{ObjectMeta: meta("there")}
			o.Labels = marked(there.UID, key)
			return c.Update(t.Context(), o)
		}},
		{name: "apply", object: there, do: func(key string) error {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
			o.SetNamespace(ns)
			o.SetName("there")
			o.SetLabels(marked(there.UID, key))
			return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("gitops"), client.ForceOwnership)
		}},
		{name: "services/status", object: service, do: func(key string) error {
			return c.Status().Patch(t.Context(), &corev1.Service{ObjectMeta: meta("s")}, labels(service, key))
		}},
		{name: "namespaces/status", object: namespace, do: func(key string) error {
			return c.Status().Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, labels(namespace, key))
		}},
		{name: "namespaces/finalize", object: namespace, do: func(key string) error {
			o := namespace.DeepCopy()
			maps.Copy(o.Labels, marked(namespace.UID, key))
			return c.SubResource("finalize").Update(t.Context(), o)
		}},
		{name: "pods/binding", object: pod, binding: true, do: func(key string) error {
			return bind(t, c, binding(ns, "p", marked(pod.UID, key)), false)
		}},
		{name: "bindings", object: pod, binding: true, do: func(key string) error {
			return bind(t, c, binding(ns, "p", marked(pod.UID, key)), true)
		}},
	}
}

func TestMarks_usersCannotBindThem(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for _, r := range markRequests(t, e) {
		t.Run(r.name, func(t *testing.T) {
			for _, key := range v1alpha1.Marks {
				err := r.do(key)
				if r.binding {
					refusedMark(t, r.name+" "+key, err)
				} else if err != nil {
					t.Errorf("%s: %v", key, err)
				}
				if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(r.object), r.object); err != nil || v1alpha1.Marked(r.object) {
					t.Errorf("%s: got labels %v, %v, want no bound mark", key, r.object.GetLabels(), err)
				}
			}
		})
	}
}

// Marks of another object, as on a copy or in a restored backup: every user may write them, they have no effect, and
// Holdfast removes them.
func TestMarks_ofAnotherObject(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	user := "editor-" + ns
	everything(t, e, user)
	c := e.As(t, user)
	source := configMap(t, e, ns, "source")
	protectOne(t, e, ns, "v1", "ConfigMap", "source")
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		t.Fatal(err)
	}
	again := func(name string) *corev1.ConfigMap {
		out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: maps.Clone(source.Labels), Annotations: source.Annotations}}
		for _, key := range v1alpha1.Marks {
			out.Labels[key] = ns
		}
		return out
	}

	t.Run("a copy is made, and loses them", func(t *testing.T) {
		if err := c.Create(t.Context(), again("copy")); err != nil {
			t.Fatal(err)
		}
		g.Eventually(label(t, e, v1alpha1.MarkedLabel, "configmap", "copy", "-n", ns), "180s", "50ms").Should(gomega.BeEmpty())
		if out := &(corev1.ConfigMap{}); e.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "copy"}, out) != nil || len(out.Labels) > 0 {
			t.Errorf("labels that are left: %v", out.Labels)
		}
	})
	t.Run("Holdfast does not remove them a second time", func(t *testing.T) {
		if err := c.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copy"}},
			mergeLabels(map[string]any{v1alpha1.MarkedLabel: string(source.UID), v1alpha1.ProtectedByMark: ns})); err != nil {
			t.Fatal(err)
		}
		g.Consistently(label(t, e, v1alpha1.ProtectedByMark, "configmap", "copy", "-n", ns), "2s", "100ms").Should(gomega.Equal(ns))
	})
	t.Run("a copy is deleted", func(t *testing.T) {
		for _, name := range []string{"copy", "fresh"} {
			if name == "fresh" {
				if err := c.Create(t.Context(), again(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("an override of another object frees nothing", func(t *testing.T) {
		o := again("labelled")
		o.Labels[v1alpha1.DeletionProtectedLabel] = v1alpha1.ProtectAlways
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), o); !apierrors.IsForbidden(err) {
			t.Errorf("got %v, want a 403", err)
		}
	})
	t.Run("the object that they are of keeps them when it is replaced without them", func(t *testing.T) {
		o := source.DeepCopy()
		o.ResourceVersion, o.Labels = "", nil
		if err := c.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(source.Labels, o.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}

// A user sets the label of an override, and then has Holdfast mark the object: the override must not be bound as well.
func TestMarks_labelsSetBeforehandAreNotBound(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x", Labels: map[string]string{
		v1alpha1.OverrideMark: "mine", v1alpha1.OverrideContentsMark: "mine",
	}}}
	if err := e.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	protectOne(t, e, ns, "v1", "ConfigMap", "x")
	if err := e.Client.Delete(t.Context(), o.DeepCopy()); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a 403", err)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{v1alpha1.MarkedLabel: string(o.UID), v1alpha1.ProtectedByMark: ns}
	if diff := cmp.Diff(want, o.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func binding(ns, pod string, labels map[string]string) *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod, Labels: labels},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}
}

func TestMarks_stayAsTheyAre(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, unprotector, gitops := "editor-"+ns, "unprotector-"+ns, "system:serviceaccount:"+ns+":gitops"
	for _, user := range []string{editor, unprotector, gitops} {
		everything(t, e, user)
	}
	mayUnprotect(t, e, ns, unprotector)
	mayUnprotect(t, e, ns, gitops)
	cm := configMap(t, e, ns, "x")
	protectOne(t, e, ns, "v1", "ConfigMap", "x")
	const key = v1alpha1.ProtectedByMark
	has := label(t, e, key, "configmap", "x", "-n", ns)

	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
		t.Fatal(err)
	}
	none := map[string]any{key: nil, v1alpha1.MarkedLabel: nil}

	for _, tt := range []struct {
		name   string
		user   string
		labels map[string]any
	}{
		{"an editor gives it another value", editor, map[string]any{key: "other"}},
		{"an editor empties it", editor, map[string]any{key: ""}},
		{"an editor removes it", editor, map[string]any{key: nil}},
		{"an editor removes what binds it", editor, map[string]any{v1alpha1.MarkedLabel: nil}},
		{"an editor removes both", editor, none},
		{"an operator writes those of its custom resource", editor, map[string]any{key: "other", v1alpha1.MarkedLabel: "0b4d0d5a"}},
		{"a service account with the verb unprotect removes both", gitops, none},
		{"an editor adds one", editor, map[string]any{v1alpha1.OverrideMark: "x"}},
		{"a user with the verb unprotect gives it another value", unprotector, map[string]any{key: "other"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := cm.DeepCopy()
			if err := e.As(t, tt.user).Patch(t.Context(), o, mergeLabels(tt.labels)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(cm.Labels, o.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("kubectl warns", func(t *testing.T) {
		out := e.Kubectl(t, "label", "configmap/x", "-n", ns, key+"-", "--as="+editor)
		if out.Code != 0 || !strings.Contains(out.Stderr, "Warning: the label "+key+" was not changed: it is a mark of Holdfast") {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("an editor changes everything else", func(t *testing.T) {
		if err := e.As(t, editor).Patch(t.Context(), cm.DeepCopy(), mergeLabels(map[string]any{"app": "web"})); err != nil {
			t.Errorf("PATCH: %v", err)
		}
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}}
		o.SetNamespace(ns)
		o.SetName("x")
		if err := e.As(t, editor).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("gitops")); err != nil {
			t.Errorf("apply: %v", err)
		}
		if got := has(); got != ns {
			t.Errorf("the mark is %q, want %q", got, ns)
		}
	})
	t.Run("a person with the verb unprotect removes it, and Holdfast writes it again", func(t *testing.T) {
		taken := cm.DeepCopy()
		if err := e.As(t, unprotector).Patch(t.Context(), taken, mergeLabels(map[string]any{key: nil})); err != nil {
			t.Fatal(err)
		}
		if value, ok := taken.Labels[key]; ok {
			t.Errorf("the mark is %q after it was taken away", value)
		}
		gomega.NewWithT(t).Eventually(has, "180s", "50ms").Should(gomega.Equal(ns))
	})
}

// The labels of a binding land on its pod, and an empty one there takes a mark
// away as well.
func TestMarks_aBindingDoesNotOverwriteOne(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor := "scheduler-" + ns
	everything(t, e, editor)
	c := e.As(t, editor)
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	protectOne(t, e, ns, "v1", "Pod", "p")
	for _, value := range []string{"", "other"} {
		for _, legacy := range []bool{false, true} {
			refusedMark(t, "a binding that sets", bind(t, c, binding(ns, "p", map[string]string{v1alpha1.ProtectedByMark: value}), legacy))
		}
	}
	if err := bind(t, c, binding(ns, "p", map[string]string{corev1.LabelTopologyZone: "a"}), false); err != nil {
		t.Errorf("a binding without marks: %v", err)
	}
	if got := label(t, e, v1alpha1.ProtectedByMark, "pod", "p", "-n", ns)(); got != ns {
		t.Errorf("the mark is %q, want %q", got, ns)
	}
}

// The deployment controller copies a Deployment's annotations to its ReplicaSets,
// and with them what a mark says to people.
func TestMarks_aMarkedDeploymentRollsOut(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	deployment := func(image string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: web}},
			template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: ` + image + `}]}}}}`
	}
	replicaSets := func() map[string]appsv1.ReplicaSet {
		var list appsv1.ReplicaSetList
		if err := e.Client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		out := map[string]appsv1.ReplicaSet{}
		for _, r := range list.Items {
			out[r.Spec.Template.Spec.Containers[0].Image] = r
		}
		return out
	}
	e.Apply(t, ns, deployment("one"))
	g.Eventually(replicaSets, "180s", "50ms").Should(gomega.HaveKey("one"))
	protectOne(t, e, ns, "apps/v1", "Deployment", "web")
	e.Apply(t, ns, deployment("two"))
	g.Eventually(replicaSets, "180s", "50ms").Should(gomega.HaveKey("two"), "the rollout is held up")
	for image, r := range replicaSets() {
		g.Eventually(func() string { return replicaSets()[image].Annotations[v1alpha1.ProtectedByMark] }, "180s", "50ms").
			Should(gomega.Equal(ns+" (ask Ann)"), "the annotation is not copied to %s", r.Name)
		for _, key := range v1alpha1.Marks {
			if value, ok := replicaSets()[image].Labels[key]; ok {
				t.Errorf("ReplicaSet %s carries %s=%s", r.Name, key, value)
			}
		}
	}
}

// Kubernetes copies the labels of a Service to its Endpoints and EndpointSlices,
// marks included. The traffic of a marked Service must follow its pods.
func TestMarks_theEndpointsOfAMarkedServiceFollowIt(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}`)
	protectOne(t, e, ns, "v1", "Service", "web")

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ns}} // only pods on a node that is there count
	if err := e.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Client.Delete(context.WithoutCancel(t.Context()), node) })
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {nodeName: `+ns+`, containers: [{name: c, image: i}]}}`)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
	ready := `{"status":{"phase":"Running","podIP":"192.0.2.1","podIPs":[{"ip":"192.0.2.1"}],"conditions":[{"type":"Ready","status":"True"}]}}`
	if err := e.Client.Status().Patch(t.Context(), pod, client.RawPatch("application/merge-patch+json", []byte(ready))); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() (addresses []string) {
		var slices discoveryv1.EndpointSliceList
		if err := e.Client.List(t.Context(), &slices, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		for _, s := range slices.Items {
			for _, endpoint := range s.Endpoints {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
		return addresses
	}, "180s", "50ms").Should(gomega.Equal([]string{"192.0.2.1"}), "the EndpointSlice does not follow")
	g.Eventually(read(t, e, "{.subsets[*].addresses[*].ip}", "endpoints", "web", "-n", ns), "180s", "100ms").Should(gomega.Equal("192.0.2.1"), "the Endpoints do not follow")
	writes := func(o ...client.ListOption) (generations []int64) {
		var slices discoveryv1.EndpointSliceList
		if err := e.Client.List(t.Context(), &slices, append(o, client.InNamespace(ns))...); err != nil {
			t.Fatal(err)
		}
		for _, s := range slices.Items {
			generations = append(generations, s.Generation)
		}
		return generations
	}
	g.Eventually(func() []int64 { return writes(client.MatchingLabels{v1alpha1.ProtectedByMark: ns}) }, "180s", "100ms").ShouldNot(gomega.BeEmpty())
	before := writes()
	g.Consistently(func() []int64 { return writes() }, "3s", "200ms").Should(gomega.Equal(before), "somebody goes on writing the EndpointSlice")
}

// A tenant labels a Service with the UID of its EndpointSlice, to which Kubernetes copies the labels.
func TestMarks_controllersCannotBindThemByCopyingLabels(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}`)
	slice := func() *discoveryv1.EndpointSlice {
		var all discoveryv1.EndpointSliceList
		if err := e.Client.List(t.Context(), &all, client.InNamespace(ns)); err != nil || len(all.Items) == 0 {
			return nil
		}
		return &all.Items[0]
	}
	g.Eventually(slice, "180s", "50ms").ShouldNot(gomega.BeNil())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	if err := e.Client.Patch(t.Context(), service, mergeLabels(map[string]any{"copied": "yes"})); err != nil {
		t.Fatal(err)
	}
	g.Eventually(func() string { return slice().Labels["copied"] }, "180s", "50ms").Should(gomega.Equal("yes"))
	if err := e.Client.Patch(t.Context(), service, mergeLabels(map[string]any{v1alpha1.MarkedLabel: slice().UID, v1alpha1.OverrideMark: "mine"})); err != nil {
		t.Fatal(err)
	}
	g.Consistently(func() bool { return v1alpha1.Marked(slice()) }, "2s", "50ms").Should(gomega.BeFalse())
}
