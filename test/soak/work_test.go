// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

// work is what one kind of user does.
type work interface {
	name() string
	// once does it once; an error is an answer that is not as it should be.
	once(ctx context.Context, rng *rand.Rand) error
	// right says what is not as it should be once nobody does anything any more.
	right(ctx context.Context) error
	done() int64
}

// counted counts.
type counted struct{ n atomic.Int64 }

func (c *counted) done() int64 { return c.n.Load() }

// lay lays out namespaces, trees, repositories and custom resources.
func (s *soak) lay() []work {
	names := make([]string, *many)
	for i := range names {
		names[i] = fmt.Sprintf("s-%d", i)
		s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}})
		s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: names[i], Name: "precious", Labels: map[string]string{"holdfast.dev/deletion-protected": "Always"}}})
	}
	s.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: names[0], Name: "a-kafka-0", Labels: map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": "a-kafka", "strimzi.io/cluster": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nothing.invalid/c"}}},
	})
	third := len(names) / 3
	all := []work{&deletes{s: s, in: names}, &others{s: s, in: names}, &evicts{s: s, in: names[0]}, newTree(s, names[1:third]), &accounts{s: s, in: names[third]}}
	for i := range 3 {
		all = append(all, newSource(s, fmt.Sprintf("soak-%d", i), names[third+1+i:third+3+i]))
	}
	return all
}

func (s *soak) create(o client.Object) {
	s.t.Helper()
	s.Eventually(func() error { return client.IgnoreAlreadyExists(s.Client.Create(s.t.Context(), o)) }, patience, often).Should(gomega.Succeed())
}

// deletes tries to delete what is protected, and what holds it.
type deletes struct {
	counted
	s  *soak
	in []string
}

func (*deletes) name() string { return "deletions of what is protected" }

func (d *deletes) once(ctx context.Context, rng *rand.Rand) error {
	ns := d.in[rng.IntN(len(d.in))]
	for o, wants := range map[client.Object]string{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "precious"}}: "is protected from deletion",
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}:                        "configmaps/precious",
	} {
		if err := d.s.Client.Delete(ctx, o); err == nil || !strings.Contains(err.Error(), wants) {
			return fmt.Errorf("delete of %T in %s: got %w, want %q", o, ns, err, wants)
		}
		d.n.Add(1)
	}
	return nil
}

func (d *deletes) right(ctx context.Context) error {
	for _, ns := range d.in {
		o := &corev1.ConfigMap{}
		if err := d.s.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "precious"}, o); err != nil {
			return err
		}
		if o.DeletionTimestamp != nil {
			return fmt.Errorf("%s/precious is being deleted", ns)
		}
	}
	return nil
}

// others does what Holdfast has nothing to do with.
type others struct {
	counted
	s  *soak
	in []string
}

func (*others) name() string { return "unrelated writes" }

func (u *others) once(ctx context.Context, rng *rand.Rand) error {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: u.in[rng.IntN(len(u.in))], Name: "unrelated"}}
	if err := u.s.Client.Create(ctx, o); err != nil {
		return err
	}
	u.n.Add(1)
	return u.s.Client.Delete(ctx, o)
}

func (*others) right(context.Context) error { return nil }

// evicts asks for the eviction of a pod that its operator is to move.
type evicts struct {
	counted
	s  *soak
	in string
}

func (*evicts) name() string { return "evictions" }

func (e *evicts) once(ctx context.Context, _ *rand.Rand) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.in, Name: "a-kafka-0"}}
	err := e.s.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
	e.n.Add(1)
	if err == nil || !strings.Contains(err.Error(), "will be rolled") {
		// A replica that was killed answers nothing, and by default an eviction passes then.
		return client.IgnoreNotFound(err)
	}
	return nil
}

func (e *evicts) right(ctx context.Context) error {
	return e.s.Client.Get(ctx, client.ObjectKey{Namespace: e.in, Name: "a-kafka-0"}, &corev1.Pod{})
}

// tree moves namespaces about in a tree, and changes what is copied down it.
type tree struct {
	counted
	s    *soak
	root string
	in   []string

	mu      sync.Mutex
	parents map[string]string
	value   int
}

func newTree(s *soak, in []string) *tree {
	s.Eventually(func() error { // Holdfast makes the one that there is
		config := &hncv1alpha2.HNCConfiguration{}
		if err := s.Client.Get(s.t.Context(), client.ObjectKey{Name: "config"}, config); err != nil {
			return err
		}
		config.Spec.Resources = []hncv1alpha2.ResourceSpec{{Resource: "configmaps", Mode: hncv1alpha2.ModeAllowPropagate}}
		return s.Client.Update(s.t.Context(), config)
	}, patience, often).Should(gomega.Succeed())
	t := &tree{s: s, root: in[0], in: in[1:], parents: map[string]string{}}
	s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.root, Name: "shared", Annotations: map[string]string{"propagate.hnc.x-k8s.io/all": "true"}}, Data: map[string]string{"v": "0"}})
	for _, ns := range t.in {
		s.Eventually(func() error { return t.move(s.t.Context(), ns, t.root) }, patience, often).Should(gomega.Succeed())
	}
	return t
}

func (*tree) name() string { return "trees" }

func (t *tree) move(ctx context.Context, ns, to string) error {
	o := &hncv1alpha2.HierarchyConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: hncv1alpha2.HierarchyConfigurationName}}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		err := t.s.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			o.Spec.Parent = to
			return t.s.Client.Create(ctx, o)
		}
		if err != nil {
			return err
		}
		o.Spec.Parent = to
		return t.s.Client.Update(ctx, o)
	})
	if err == nil {
		t.mu.Lock()
		t.parents[ns] = to
		t.mu.Unlock()
	}
	return err
}

// once moves a namespace below the root or below a child of it, or changes the source.
func (t *tree) once(ctx context.Context, rng *rand.Rand) error {
	t.n.Add(1)
	if rng.IntN(3) == 0 {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.root, Name: "shared"}}
		t.mu.Lock()
		t.value++
		body := fmt.Sprintf(`{"data":{"v":"%d"}}`, t.value)
		t.mu.Unlock()
		return t.s.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(body)))
	}
	// The upper half stays below the root, and so no cycle can come of it.
	half := len(t.in) / 2
	ns, to := t.in[half+rng.IntN(len(t.in)-half)], t.root
	if rng.IntN(2) == 0 {
		to = t.in[rng.IntN(half)]
	}
	if err := t.move(ctx, ns, to); err != nil && !brief(err) {
		return fmt.Errorf("move %s below %s: %w", ns, to, err)
	}
	return nil
}

// brief says whether an answer is that of a replica that has just been killed or started, and
// fails closed.
func brief(err error) bool {
	return strings.Contains(err.Error(), "failed calling webhook") || apierrors.IsServiceUnavailable(err)
}

func (t *tree) right(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ns := range t.in {
		o := &corev1.ConfigMap{}
		if err := t.s.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "shared"}, o); err != nil {
			return err
		}
		if want := fmt.Sprint(t.value); o.Data["v"] != want || o.Labels[hncv1alpha2.LabelInheritedFrom] != t.root {
			return fmt.Errorf("%s/shared is %v of %q, want %s of %s", ns, o.Data, o.Labels[hncv1alpha2.LabelInheritedFrom], want, t.root)
		}
		space := &corev1.Namespace{}
		if err := t.s.Client.Get(ctx, client.ObjectKey{Name: ns}, space); err != nil {
			return err
		}
		if got := space.Labels[t.parents[ns]+hncv1alpha2.LabelTreeDepthSuffix]; got != "1" {
			return fmt.Errorf("%s has depth %q below %s", ns, got, t.parents[ns])
		}
	}
	return nil
}

// source commits to the repository of a RootSync, which shares namespaces with others.
type source struct {
	counted
	s    *soak
	sync string
	in   []string
	repo *gitserver.Repo

	mu     sync.Mutex
	commit string
	value  int
}

func newSource(s *soak, rootSync string, in []string) *source {
	out := &source{s: s, sync: rootSync, in: in, repo: s.git.Repo(s.t, rootSync)}
	out.commits()
	rs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"sourceFormat": "unstructured", "git": map[string]any{
		"repo": out.repo.URL(), "branch": "main", "auth": "none", "period": "1s",
	}}}}
	rs.SetGroupVersionKind(schema.GroupVersionKind{Group: "configsync.gke.io", Version: "v1beta1", Kind: "RootSync"})
	rs.SetNamespace(object.SyncNamespace)
	rs.SetName(rootSync)
	s.create(rs)
	return out
}

func (o *source) name() string { return "commits to " + o.sync }

func (o *source) commits() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value++
	var text strings.Builder
	for _, ns := range o.in {
		for i := range 5 {
			fmt.Fprintf(&text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: %s}\ndata: {v: \"%d\"}\n---\n", o.sync, i, ns, o.value)
		}
	}
	o.commit = o.repo.Commit(o.s.t, map[string]string{"x.yaml": text.String()})
}

func (o *source) once(ctx context.Context, rng *rand.Rand) error {
	if rng.IntN(2) == 0 {
		o.commits()
	} else { // somebody changes what is in the cluster
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.in[0], Name: fmt.Sprintf("%s-%d", o.sync, rng.IntN(5))}}
		if err := o.s.Client.Patch(ctx, cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"v":"edited"}}`))); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	o.n.Add(1)
	return nil
}

func (o *source) right(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ns := range o.in {
		for i := range 5 {
			cm := &corev1.ConfigMap{}
			if err := o.s.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: fmt.Sprintf("%s-%d", o.sync, i)}, cm); err != nil {
				return err
			}
			if want := fmt.Sprint(o.value); cm.Data["v"] != want {
				return fmt.Errorf("%s/%s is %v, want %s", ns, cm.Name, cm.Data, want)
			}
		}
	}
	return nil
}

// accounts changes what a KafkaConnect says of its service account.
type accounts struct {
	counted
	s  *soak
	in string

	mu    sync.Mutex
	value int
}

func (*accounts) name() string { return "service accounts" }

func (a *accounts) once(ctx context.Context, _ *rand.Rand) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value++
	text := fmt.Sprintf(`{"apiVersion":"kafka.strimzi.io/v1","kind":"KafkaConnect","metadata":{"name":"shop","namespace":%q},`+
		`"spec":{"replicas":1,"template":{"serviceAccount":{"metadata":{"annotations":{"eks.amazonaws.com/role-arn":"arn:%d"}}}}}}`, a.in, a.value)
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		return err
	}
	a.n.Add(1)
	return a.s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("soak"), client.ForceOwnership)
}

func (a *accounts) right(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value == 0 {
		return nil
	}
	o := &corev1.ServiceAccount{}
	if err := a.s.Client.Get(ctx, client.ObjectKey{Namespace: a.in, Name: "shop-connect"}, o); err != nil {
		return err
	}
	if want, got := fmt.Sprint("arn:", a.value), o.Annotations["eks.amazonaws.com/role-arn"]; got != want {
		return fmt.Errorf("%s/shop-connect has %q, want %q", a.in, got, want)
	}
	return nil
}
