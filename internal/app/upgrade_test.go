// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/service"
)

// caller asks the API server for the same thing again and again.
type caller struct {
	name string
	// wants is in each answer; empty if the call has to succeed.
	wants string
	call  func(context.Context) error

	answered atomic.Int64
}

// breath is what a caller leaves between two calls, so that they do not starve who answers them.
const breath = 10 * time.Millisecond

// runs until the context ends, and tells of answers that are not as they should be.
func (c *caller) run(ctx context.Context, t testing.TB) {
	ticker := time.NewTicker(breath)
	defer ticker.Stop()
	for ; ctx.Err() == nil; <-ticker.C {
		err := c.call(context.WithoutCancel(ctx)) // the last one ends too
		c.answered.Add(1)
		if c.wants == "" && err != nil || c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.wants)
			return
		}
	}
}

// From one release to the next, replica by replica as a Deployment does it, while everybody
// goes on: each call gets the answer that it should, and none waits for its time to run out.
func TestUpgrade_losesNoCall(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const next = "0.2.0"
	e := testkit.New(t, testkit.Options{NoManager: true})
	behind := service.New(t)
	start := func(version string) *manager.Process {
		p := e.StartVersion(t, version, "--webhook-url", behind.URL())
		behind.Add(p)
		return p
	}
	replicas := []*manager.Process{start(""), start("")}
	e.Manager = replicas[0]
	g := gomega.NewWithT(t)
	g.Expect(e.WaitEnforced(t.Context())).To(gomega.Succeed())
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: protected, labels: {holdfast.dev/deletion-protected: Always}}}`)
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: a-kafka-0, labels: {strimzi.io/kind: Kafka, strimzi.io/name: a-kafka, strimzi.io/cluster: a}},
		spec: {containers: [{name: c, image: nothing.invalid/c}]}}`)
	empty := e.Namespace(t)
	calls := callers(t, e, ns, empty)
	for _, c := range calls {
		g.Eventually(func() string { return fmt.Sprint(c.call(t.Context())) }, "180s", "200ms").Should(gomega.ContainSubstring(c.wants), c.name)
	}

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer func() {
		stop()
		all.Wait()
	}()
	for _, c := range calls {
		all.Go(func() { c.run(ctx, t) })
	}
	more := func() { // each of them has answers of the replicas as they are
		for _, c := range calls {
			enough := c.answered.Load() + 20
			g.Eventually(func() bool { return t.Failed() || c.answered.Load() > enough }, "180s", "20ms").Should(gomega.BeTrue(), c.name)
		}
		if t.Failed() { // who had a wrong answer calls no more
			t.FailNow()
		}
	}
	more()
	for _, old := range replicas {
		p := start(next)
		more()
		behind.Remove(old)
		if err := old.Stop(); err != nil {
			t.Error(err)
		}
		e.Manager = p
		more()
	}
	g.Eventually(func() string {
		var h v1alpha1.Holdfast
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, &h); err != nil {
			return err.Error()
		}
		return h.Status.Version
	}, "180s", "200ms").Should(gomega.Equal(next))
	more()
}

// callers are one for each way in which Holdfast answers: by a policy, by the mark of what
// is below, by the look below a namespace, and for an eviction; and one that it has nothing
// to do with.
func callers(t testing.TB, e *testkit.Env, ns, empty string) []*caller {
	t.Helper()
	rc := rest.CopyConfig(e.Config)
	rc.QPS = -1
	kube, err := kubernetes.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	dry := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	return []*caller{
		{name: "a protected object", wants: "is protected from deletion", call: func(ctx context.Context) error {
			return kube.CoreV1().ConfigMaps(ns).Delete(ctx, "protected", metav1.DeleteOptions{})
		}},
		{name: "a namespace that holds it", wants: "configmaps/protected", call: func(ctx context.Context) error {
			return kube.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{})
		}},
		{name: "a namespace that holds nothing", call: func(ctx context.Context) error {
			return kube.CoreV1().Namespaces().Delete(ctx, empty, dry)
		}},
		{name: "an eviction", wants: "will be rolled by the Strimzi Cluster Operator", call: func(ctx context.Context) error {
			return kube.CoreV1().Pods(ns).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a-kafka-0"}, DeleteOptions: &dry})
		}},
		{name: "something else", call: func(ctx context.Context) error {
			if _, err := kube.CoreV1().ConfigMaps(empty).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}); err != nil {
				return err
			}
			return kube.CoreV1().ConfigMaps(empty).Delete(ctx, "other", metav1.DeleteOptions{})
		}},
	}
}
