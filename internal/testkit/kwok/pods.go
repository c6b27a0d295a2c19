// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EndsAfterAnnotation on a pod says how long it takes to end once it is deleted, in the way of Go: "1.5s".
// Without it a pod ends at once. Its grace period neither ends it earlier nor keeps it longer, but a delete
// without grace removes it at once, as always. A change of the pod while it ends begins the time anew.
const EndsAfterAnnotation = "pod-delete.stage.kwok.x-k8s.io/delay"

// Pod is a pod that is bound to a node, with one container.
type Pod struct {
	Namespace, Name, Node string
	Labels, Annotations   map[string]string
	// Owner is what the pod belongs to; see OwnedBy. Without one it is a pod that kubectl drain refuses
	// to evict unless it is forced to.
	Owner *metav1.OwnerReference
	// EndsAfter is how long the pod takes to end once it is deleted. For one that ends when a test says
	// so, give it a finalizer.
	EndsAfter  time.Duration
	Finalizers []string
}

// Object returns what Run makes.
func (p Pod) Object() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name,
			Labels: p.Labels, Annotations: maps.Clone(p.Annotations), Finalizers: p.Finalizers,
		},
		Spec: corev1.PodSpec{
			NodeName:                      p.Node,
			Containers:                    []corev1.Container{{Name: "main", Image: "example.org/none"}},
			TerminationGracePeriodSeconds: new(int64(30)),
		},
	}
	if p.Owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*p.Owner}
	}
	if p.EndsAfter > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[EndsAfterAnnotation] = p.EndsAfter.String()
	}
	return pod
}

// OwnedBy returns the reference of an object to its controller, which must be in the cluster: the garbage
// collector removes what belongs to something that is not there. Of the controller it may be any kind.
func OwnedBy(c client.Client, owner client.Object) (*metav1.OwnerReference, error) {
	gvk, err := c.GroupVersionKindFor(owner)
	if err != nil {
		return nil, fmt.Errorf("find the kind of the owner: %w", err)
	}
	return metav1.NewControllerRef(owner, gvk), nil
}

// RunPods makes pods and waits until they are Running and Ready.
func (p *Process) RunPods(ctx context.Context, c client.Client, pods ...Pod) ([]*corev1.Pod, error) {
	made := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		made[i] = pod.Object()
		if err := p.create(ctx, c, made[i]); err != nil {
			return nil, fmt.Errorf("make pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	for _, pod := range made {
		if err := p.WaitRunning(ctx, c, pod); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// create makes a pod as soon as its namespace has the service account that a controller makes in each.
func (p *Process) create(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	return p.until(ctx, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, pod)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") {
			return false, nil
		}
		return err == nil, err
	})
}

// WaitRunning waits until a pod is Running and Ready, and leaves in it what it is then. It must be the same
// pod, not another under its name.
func (p *Process) WaitRunning(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	uid := pod.UID
	err := p.until(ctx, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err
		}
		if pod.UID != uid {
			return false, fmt.Errorf("it is another: %s, not %s", pod.UID, uid)
		}
		return PodReady(pod), nil
	})
	if err != nil {
		return fmt.Errorf("wait until pod %s/%s runs: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// PodReady says whether a pod is Running and Ready.
func PodReady(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// WaitGone waits until pods are gone; another pod under the same name is not the one.
func (p *Process) WaitGone(ctx context.Context, c client.Client, pods ...*corev1.Pod) error {
	for _, pod := range pods {
		err := p.until(ctx, func(ctx context.Context) (bool, error) {
			var now corev1.Pod
			err := c.Get(ctx, client.ObjectKeyFromObject(pod), &now)
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return err == nil && now.UID != pod.UID, err
		})
		if err != nil {
			return fmt.Errorf("wait until pod %s/%s is gone: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}
