// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// Protection says what protects a pod from deletion, by its metadata, as the rest
// of a sentence; "" for nothing.
type Protection interface {
	ProtectsPod(ctx context.Context, namespace string, o *metav1.ObjectMeta) (string, error)
}

// lookup finds out what a decision needs beside the pod.
type lookup struct {
	client    kubernetes.Interface
	metadata  metadata.Interface
	protected Protection
	clock     clock.PassiveClock
	pauses    timing.Pauses

	mu sync.Mutex
	// draining are nodes that need no other look for a while. That one is not drained is never
	// remembered: a drain begins with the cordon, and the first eviction follows at once.
	draining map[string]time.Time // until when, by node
}

// node of a pod. A pod that no node has yet is on none that is being drained.
func (l *lookup) node(ctx context.Context, s settings, name string) (*policy.Node, error) {
	if name == "" {
		return &policy.Node{}, nil
	}
	if l.known(name) {
		return &policy.Node{Draining: true}, nil
	}
	ctx, cancel := within(ctx, s)
	defer cancel()
	n, err := l.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		n, err = nil, nil // and so are its pods, soon
	}
	if err != nil {
		return nil, fmt.Errorf("get node: %w", err)
	}
	out := &policy.Node{Draining: policy.Draining(n)}
	if out.Draining {
		l.remember(name)
	}
	return out, nil
}

func (l *lookup) known(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.draining[node]
	if ok && l.clock.Now().After(until) {
		delete(l.draining, node)
		return false
	}
	return ok
}

func (l *lookup) remember(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining == nil {
		l.draining = map[string]time.Time{}
	}
	now := l.clock.Now()
	maps.DeleteFunc(l.draining, func(_ string, until time.Time) bool { return now.After(until) }) // nobody may ask for them again
	l.draining[node] = now.Add(l.pauses.DrainingNode)
}

// namespace reads the metadata of a namespace.
func (l *lookup) namespace(ctx context.Context, s settings, name string) (*metav1.ObjectMeta, error) {
	ctx, cancel := within(ctx, s)
	defer cancel()
	ns, err := l.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("get namespace: %w", err)
	}
	return &ns.ObjectMeta, nil
}

func (l *lookup) protection(ctx context.Context, namespace string, o *metav1.ObjectMeta) (*string, error) {
	text, err := l.protected.ProtectsPod(ctx, namespace, o)
	if err != nil {
		return nil, fmt.Errorf("find out what protects the pod: %w", err)
	}
	return &text, nil
}
