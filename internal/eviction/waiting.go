// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/uid"
)

// waiting knows the pods that policies hold, on the leader.
type waiting struct {
	client kubernetes.Interface
	// changed is told of each policy whose pods changed.
	changed func(name string)

	mu   sync.Mutex
	pods map[types.NamespacedName]held
}

// held is a pod that a policy holds.
type held struct {
	policy string
	uid    types.UID
	asked  v1alpha1.EvictionAsked
}

func newWaiting(c kubernetes.Interface, changed func(name string)) *waiting {
	return &waiting{client: c, changed: changed, pods: map[types.NamespacedName]held{}}
}

// Seen implements inventory.Handler.
func (w *waiting) Seen(_ inventory.Source, o *metav1.PartialObjectMetadata) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	asked, _ := policy.Asked(&o.ObjectMeta)
	next := held{policy: o.Labels[v1alpha1.EvictingLabel], uid: o.UID, asked: asked}
	if o.DeletionTimestamp != nil {
		w.Gone(inventory.Source{}, o) // it is on its way
		return
	}
	w.mu.Lock()
	before := w.pods[key]
	w.pods[key] = next
	waitingPods.Set(float64(len(w.pods)))
	w.mu.Unlock()
	if before.policy != "" && before.policy != next.policy {
		w.changed(before.policy)
	}
	w.changed(next.policy)
}

// Gone implements inventory.Handler.
func (w *waiting) Gone(_ inventory.Source, o *metav1.PartialObjectMetadata) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	w.mu.Lock()
	before, ok := w.pods[key]
	delete(w.pods, key)
	waitingPods.Set(float64(len(w.pods)))
	w.mu.Unlock()
	if ok {
		w.changed(before.policy)
	}
}

// Synced implements inventory.Handler.
func (w *waiting) Synced(inventory.Source) {}

// Failed implements inventory.Handler.
func (w *waiting) Failed(inventory.Source, error) {}

// all returns how many pods are held.
func (w *waiting) all() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pods)
}

// of returns the pods that a policy holds.
func (w *waiting) of(name string) map[types.NamespacedName]held {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[types.NamespacedName]held{}
	for key, h := range w.pods {
		if h.policy == name {
			out[key] = h
		}
	}
	return out
}

// release takes Holdfast's bookkeeping off a pod that nobody wants to move any
// more. What the policy's action wrote stays: the operator may be acting on it.
func (w *waiting) release(ctx context.Context, key types.NamespacedName, h held) error {
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         h.uid,
		"labels":      map[string]any{v1alpha1.EvictingLabel: nil},
		"annotations": map[string]any{v1alpha1.EvictionAskedAnnotation: nil},
	}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = w.client.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, text,
		metav1.PatchOptions{FieldManager: v1alpha1.EvictionFieldManager})
	// It may be gone, and another have its name.
	if err != nil && !apierrors.IsNotFound(err) && !uid.Changed(err) {
		return fmt.Errorf("release pod %s: %w", key, err)
	}
	w.drop(key, h.uid)
	return nil
}

// drop takes a pod out of the list. The watch says so too, unless it has ended
// meanwhile, as it does when the mode becomes Off.
func (w *waiting) drop(key types.NamespacedName, id types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pods[key].uid == id {
		delete(w.pods, key)
		waitingPods.Set(float64(len(w.pods)))
	}
}

// lapsed says when nobody will have asked for the pod for long enough.
func (h held) lapsed(forget time.Duration) time.Time { return h.asked.Last.Add(forget) }
