// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package roller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
)

// bind puts a pod onto a node other than the one it must not go to, as a scheduler does, and says whether
// there was one.
func (r *Roller) bind(ctx context.Context, pod *corev1.Pod, but string) (bool, error) {
	var all corev1.NodeList
	if err := r.client.List(ctx, &all, client.MatchingLabels(r.options.NodeLabels)); err != nil {
		return false, fmt.Errorf("list the nodes: %w", err)
	}
	for i := range all.Items {
		node := &all.Items[i]
		if node.Name == but || node.Spec.Unschedulable || !kwok.NodeReady(node) {
			continue
		}
		err := r.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node.Name},
		})
		if apierrors.IsConflict(err) { // also if the answer to an earlier try was lost
			return r.isBound(ctx, pod)
		}
		if err != nil {
			return false, fmt.Errorf("put pod %s onto node %s: %w", pod.Name, node.Name, err)
		}
		return true, nil
	}
	return false, nil
}

func (r *Roller) isBound(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var now corev1.Pod
	err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), &now)
	return err == nil && now.UID == pod.UID && now.Spec.NodeName != "", err
}

// gone says whether a pod is gone; another pod under the same name is not the one.
func (r *Roller) gone(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var now corev1.Pod
	err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), &now)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && now.UID != pod.UID, err
}

// runs says whether a pod is Running and Ready, or can never be because it is gone.
func (r *Roller) runs(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var now corev1.Pod
	err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), &now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != pod.UID {
		return true, nil
	}
	return err == nil && kwok.PodReady(&now), err
}
