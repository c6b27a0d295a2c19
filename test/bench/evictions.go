// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

const (
	// watchedNamespace and unwatchedNamespace are in and out of the scope.
	watchedNamespace, unwatchedNamespace = "bench-1", "bench-2"
	// loosePod and kafkaPod are in both.
	loosePod, kafkaPod = "loose", "a-kafka-0"
)

// evictionCase is a sort of eviction.
type evictionCase struct {
	work           string
	config         string
	namespace, pod string
	refused        bool
	// most calls of the manager for one eviction, by verb, and of the API server.
	gets, patches, asked float64

	with, bare []float64
	// counted are the calls of the manager, and asks those of the API server.
	counted calls
	asks    float64
	n       int
}

// evictionCases are run in this order: those of one configuration together.
func evictionCases() []*evictionCase {
	scoped := func(more string) string {
		return "eviction: {" + more + "scope: {namespaces: [" + watchedNamespace + "]}}"
	}
	return []*evictionCase{
		{work: "a namespace out of scope, filter Handler", config: scoped(""), namespace: unwatchedNamespace, pod: kafkaPod, asked: 1},
		{work: "a pod that no rule matches", config: scoped(""), namespace: watchedNamespace, pod: loosePod, gets: 1, asked: 1},
		{work: "a pod that waits already, refused", config: scoped(""), namespace: watchedNamespace, pod: kafkaPod, refused: true, gets: 1, asked: 1},
		{work: "a namespace out of scope, filter Selector", config: scoped("filter: Selector, "), namespace: unwatchedNamespace, pod: kafkaPod},
		{work: "a pod that no rule matches, pods Cached", config: scoped("pods: Cached, "), namespace: watchedNamespace, pod: loosePod, asked: 1},
		{work: "a pod that waits already, refused, pods Cached", config: scoped("pods: Cached, "), namespace: watchedNamespace, pod: kafkaPod, refused: true, asked: 1},
	}
}

// evictionsBench measures evictions, as dry runs: they ask the same webhook, and
// the pod stays.
type evictionsBench struct {
	*subject
	clientset kubernetes.Interface
	audit     *auditlog.Log
}

func measureEvictions(ctx context.Context, b *bench) ([]row, error) {
	b.progress("evictions: a cluster")
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	audit, o, err := auditPods(b.dir)
	if err != nil {
		return nil, err
	}
	s, err := b.installedOn(ctx, o, withoutLease)
	if err != nil {
		return nil, err
	}
	m := &evictionsBench{subject: s, audit: audit}
	config := rest.CopyConfig(s.Config)
	config.QPS = -1
	if m.clientset, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if _, err := s.startManager(ctx); err != nil {
		return nil, err
	}
	if err := m.fill(ctx, b.evictedAtOnce); err != nil {
		return nil, err
	}
	cases := evictionCases()
	for round := range b.evictionRounds {
		b.progress("evictions, round %d of %d", round+1, b.evictionRounds)
		for _, c := range cases {
			if err := m.round(ctx, c, b.evictions); err != nil {
				return nil, fmt.Errorf("%s: %w", c.work, err)
			}
		}
		if err := m.bare(ctx, cases, b.evictions); err != nil {
			return nil, err
		}
	}
	var rows []row
	for _, c := range cases {
		rows = append(rows, c.rows()...)
	}
	b.progress("evictions: %d at once", b.evictedAtOnce)
	more, err := m.atOnce(ctx, b)
	return append(rows, more...), err
}

func (c *evictionCase) rows() []row {
	n := float64(c.n)
	return []row{
		{work: "eviction: " + c.work, floor: "the same request without Holdfast", measured: median(c.with), base: median(c.bare), unit: "ms"},
		{work: "eviction: " + c.work + ": questions of the API server for each", measured: c.asks / n, limit: new(c.asked)},
		{work: "eviction: " + c.work + ": GETs of the manager for each", measured: c.counted.gets / n, limit: new(c.gets)},
		{work: "eviction: " + c.work + ": PATCHes of the manager for each", measured: c.counted.patches / n, limit: new(c.patches)},
	}
}

// fill makes pods that never run. The Kafka pods of the crowd are for atOnce.
func (m *evictionsBench) fill(ctx context.Context, crowd int) error {
	add := func(namespace, name string, labels map[string]string) error {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
			Spec: corev1.PodSpec{
				AutomountServiceAccountToken: new(false), Containers: []corev1.Container{{Name: "c", Image: "none"}},
			},
		}
		if err := m.Client.Create(ctx, p); err != nil {
			return fmt.Errorf("make pod: %w", err)
		}
		return nil
	}
	err := await(ctx, "pods can be made", 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		list := &corev1.ServiceAccountList{}
		err := m.Client.List(ctx, list)
		return len(list.Items) > 3, err
	})
	if err != nil {
		return err
	}
	for _, ns := range []string{watchedNamespace, unwatchedNamespace} {
		if err := add(ns, loosePod, nil); err != nil {
			return err
		}
		if err := add(ns, kafkaPod, kafkaLabels); err != nil {
			return err
		}
	}
	return each(crowd, makers, func(i int) error { return add(watchedNamespace, crowdPod(i), kafkaLabels) })
}

var kafkaLabels = map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": "a-kafka"}

func crowdPod(i int) string { return fmt.Sprintf("b-kafka-%d", i) }

func (m *evictionsBench) evict(ctx context.Context, namespace, pod string, dryRun bool) error {
	in := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}
	if dryRun {
		in.DeleteOptions = &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	}
	return m.clientset.PolicyV1().Evictions(namespace).Evict(ctx, in)
}

// errPassed is an eviction that should have been refused.
var errPassed = errors.New("it passed")

// held says whether an error is the refusal of the Drain Cleaner's rules.
func held(err error) bool {
	return err != nil && strings.Contains(err.Error(), "will be rolled")
}

// configure writes the configuration and waits until it is in force.
func (m *evictionsBench) configure(ctx context.Context, text string) error {
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = "holdfast-system", "holdfast"
	cm.Data = map[string]string{"config.yaml": "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n" + text + "\n"}
	if err := m.Client.Update(ctx, cm); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return m.on(ctx)
}

// round measures one sort of eviction with Holdfast.
func (m *evictionsBench) round(ctx context.Context, c *evictionCase, n int) error {
	if err := m.configure(ctx, c.config); err != nil {
		return err
	}
	err := await(ctx, "the API server asks about evictions", 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		return held(m.evict(ctx, watchedNamespace, kafkaPod, false)), nil
	})
	if err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	before, err := callsIn(m.audit)
	if err != nil {
		return err
	}
	asked, err := m.asked(ctx)
	if err != nil {
		return err
	}
	took, err := m.times(ctx, c.namespace, c.pod, c.refused, n)
	if err != nil {
		return err
	}
	after, err := callsIn(m.audit)
	if err != nil {
		return err
	}
	more, err := m.asked(ctx)
	if err != nil {
		return err
	}
	c.asks += more - asked
	c.with = append(c.with, took)
	c.counted.gets += after.gets - before.gets
	c.counted.patches += after.patches - before.patches
	c.n += n
	return nil
}

// asked is how often the API server has asked the manager about evictions.
func (m *evictionsBench) asked(ctx context.Context) (float64, error) {
	f, err := m.figures(ctx)
	return f.get("holdfast_eviction_reviews_total") + f.get("holdfast_eviction_namespace_filtered_total"), err
}

// bare measures the same requests without Holdfast.
func (m *evictionsBench) bare(ctx context.Context, cases []*evictionCase, n int) error {
	if err := m.switchTo(ctx, false); err != nil {
		return err
	}
	for _, c := range cases {
		took, err := m.times(ctx, c.namespace, c.pod, false, n)
		if err != nil {
			return fmt.Errorf("%s, without Holdfast: %w", c.work, err)
		}
		c.bare = append(c.bare, took)
	}
	return m.switchTo(ctx, true)
}

// times returns the median of the milliseconds of evictions, one after the other.
func (m *evictionsBench) times(ctx context.Context, namespace, pod string, refused bool, n int) (float64, error) {
	times := make([]float64, n)
	for i := range times {
		begin := time.Now()
		err := m.evict(ctx, namespace, pod, true)
		times[i] = milliseconds(time.Since(begin))
		if held(err) != refused || err != nil && !held(err) {
			return 0, fmt.Errorf("evict %s: got %w, want a refusal: %t", pod, err, refused)
		}
	}
	return median(times), nil
}

// atOnce measures many evictions of pods that are to be moved, all at once, and
// then memory.
func (m *evictionsBench) atOnce(ctx context.Context, b *bench) ([]row, error) {
	// Where the API server has more to do than it has time for, webhooks time out;
	// then this configuration refuses.
	if err := m.configure(ctx, "eviction: {onOutage: Refuse, scope: {namespaces: ["+watchedNamespace+"]}}"); err != nil {
		return nil, err
	}
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	rows, err := m.crowd(ctx, b.evictedAtOnce)
	if err != nil {
		return nil, err
	}
	b.progress("evictions: %d reviews", b.reviews)
	memory, err := m.memory(ctx, b.reviews)
	return append(rows, memory), err
}

func (m *evictionsBench) crowd(ctx context.Context, n int) ([]row, error) {
	before, err := callsIn(m.audit)
	if err != nil {
		return nil, err
	}
	var late atomic.Int64
	begin := time.Now()
	err = each(n, n, func(i int) error {
		err := m.evict(ctx, watchedNamespace, crowdPod(i), false)
		if held(err) {
			return nil
		}
		late.Add(1)
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") && !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("evict a pod among many: %w", cmp.Or(err, errPassed))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	after, err := callsIn(m.audit)
	if err != nil {
		return nil, err
	}
	floor, err := m.floor(ctx, n)
	if err != nil {
		return nil, err
	}
	what := count(n, "eviction") + " of pods to be moved, at once"
	return []row{
		{work: what, floor: "a GET and a PATCH of each pod by a bare client, as many at once", measured: took.Seconds(), base: floor.Seconds(), unit: "s"},
		{work: what + ": refused because the time of the webhook was up", measured: float64(late.Load())},
		{work: what + ": GETs of the manager for each", measured: (after.gets - before.gets) / float64(n), limit: new(1.0)},
		{work: what + ": PATCHes of the manager for each", measured: (after.patches - before.patches) / float64(n), limit: new(1.0)},
	}, nil
}

// memory is what many reviews leave behind.
func (m *evictionsBench) memory(ctx context.Context, n int) (row, error) {
	before, err := m.residentMiB()
	if err != nil {
		return row{}, err
	}
	err = each(n, makers, func(int) error {
		if err := m.evict(ctx, watchedNamespace, kafkaPod, true); !held(err) {
			return fmt.Errorf("evict: got %w, want a refusal", err)
		}
		return nil
	})
	if err != nil {
		return row{}, err
	}
	after, err := m.residentMiB()
	return row{
		work: "resident memory of the manager after " + count(n, "review"), floor: "before",
		measured: after, base: before, unit: "MiB", limit: new(float64(memoryBound)),
	}, err
}

// floor is what a guard cannot do without.
func (m *evictionsBench) floor(ctx context.Context, n int) (time.Duration, error) {
	begin := time.Now()
	err := each(n, n, func(i int) error {
		pods := m.clientset.CoreV1().Pods(watchedNamespace)
		if _, err := pods.Get(ctx, crowdPod(i), metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := pods.Patch(ctx, crowdPod(i), types.MergePatchType, []byte(`{"metadata":{"annotations":{"floor":"true"}}}`), metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read and patch pods: %w", err)
	}
	return time.Since(begin), nil
}
