// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func (h *handover) lookScale(ctx context.Context) (bool, string, error) {
	f, err := find(ctx, h.kube)
	if err != nil {
		return false, "", err
	}
	var todo []string
	for i := range f.deployments {
		left, err := h.left(ctx, &f.deployments[i])
		if err != nil {
			return false, "", err
		}
		if left != "" {
			todo = append(todo, fmt.Sprintf("Deployment %s/%s from %d", f.deployments[i].Namespace, f.deployments[i].Name, ptr.Deref(f.deployments[i].Spec.Replicas, 1)))
		}
	}
	if len(todo) > 0 {
		return false, "scale " + strings.Join(todo, " and ") + " to 0", nil
	}
	return true, "no pod of HNC runs", nil
}

// left says what is left of a Deployment that should have no pods; "" if nothing is.
func (h *handover) left(ctx context.Context, d *appsv1.Deployment) (string, error) {
	name := d.Namespace + "/" + d.Name
	if n := ptr.Deref(d.Spec.Replicas, 1); n > 0 {
		return fmt.Sprintf("Deployment %s is scaled to %d%s", name, n, scaledBy(d)), nil
	}
	if n := d.Status.Replicas + ptr.Deref(d.Status.TerminatingReplicas, 0); n > 0 || d.Status.ObservedGeneration < d.Generation {
		return fmt.Sprintf("pods of Deployment %s end", name), nil
	}
	pods, err := h.pods(ctx, d)
	if err != nil || len(pods) == 0 {
		return "", err
	}
	return "pods are on their way out: " + few(pods), nil
}

// pods of a Deployment, those that are on their way out too.
func (h *handover) pods(ctx context.Context, d *appsv1.Deployment) ([]string, error) {
	list, err := h.kube.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector), Limit: pageSize})
	if err != nil {
		return nil, fmt.Errorf("look for pods of HNC: %w", err)
	}
	var out []string
	for i := range list.Items {
		p := &list.Items[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if owner := metav1.GetControllerOf(p); !ended && owner != nil && strings.HasPrefix(owner.Name, d.Name+"-") {
			out = append(out, p.Namespace+"/"+p.Name)
		}
	}
	return out, nil
}

// scaledBy says who else has scaled a Deployment since.
func scaledBy(d *appsv1.Deployment) string {
	i := slices.IndexFunc(d.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:replicas"`) && f.Subresource != "status"
	})
	if i < 0 || d.ManagedFields[i].Manager == fieldManager {
		return ""
	}
	return ", by " + d.ManagedFields[i].Manager
}

// scaleDown scales HNC to nothing. Its webhooks are gone by then, so nobody waits
// for its answer.
func (h *handover) scaleDown(ctx context.Context) (string, error) {
	f, r, err := h.taken(ctx)
	if err != nil {
		return "", err
	}
	if err := h.keep(ctx, r); err != nil {
		return "", err
	}
	var done []string
	for i := range f.deployments {
		d := &f.deployments[i]
		if ptr.Deref(d.Spec.Replicas, 1) == 0 {
			continue
		}
		if err := h.scale(ctx, replicas{d.Namespace, d.Name, 0}); err != nil {
			return "", err
		}
		done = append(done, fmt.Sprintf("Deployment %s/%s from %d", d.Namespace, d.Name, ptr.Deref(d.Spec.Replicas, 1)))
	}
	if err := h.until(ctx, h.running); err != nil {
		return "", err
	}
	if len(done) == 0 {
		return "the pods of HNC are gone", nil
	}
	return "scaled " + strings.Join(done, " and ") + " to 0; its pods are gone", nil
}

// running says what of HNC still runs.
func (h *handover) running(ctx context.Context) (string, error) {
	f, err := find(ctx, h.kube)
	if err != nil {
		return "", err
	}
	for i := range f.deployments {
		left, err := h.left(ctx, &f.deployments[i])
		if strings.Contains(left, "is scaled to") {
			left += ": something scales it up again; if Argo CD, Flux or an autoscaler keeps it, stop that first"
		}
		if left != "" || err != nil {
			return left, err
		}
	}
	return "", nil
}

func (h *handover) scale(ctx context.Context, to replicas) error {
	_, err := h.kube.AppsV1().Deployments(to.Namespace).Patch(ctx, to.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, to.Replicas), metav1.PatchOptions{FieldManager: fieldManager}, "scale")
	if err != nil {
		return fmt.Errorf("scale Deployment %s: %w", to, err)
	}
	return nil
}

// lookRunning is about HNC's pods on the way back.
func (h *handover) lookRunning(ctx context.Context) (bool, string, error) {
	r, err := h.recorded(ctx)
	if err != nil {
		return false, "", err
	}
	var todo []string
	for _, want := range r.Replicas {
		if missing, err := h.notReady(ctx, want); err != nil {
			return false, "", err
		} else if missing != "" {
			todo = append(todo, fmt.Sprintf("Deployment %s to %d", want, want.Replicas))
		}
	}
	if len(todo) == 0 {
		return true, "HNC runs", nil
	}
	return false, "scale " + strings.Join(todo, " and "), nil
}

// notReady says what is missing until a Deployment has the pods that it had.
func (h *handover) notReady(ctx context.Context, want replicas) (string, error) {
	d, err := h.kube.AppsV1().Deployments(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("there is no Deployment %s any more: install HNC again, and run the command again", want), nil
	}
	if err != nil {
		return "", fmt.Errorf("look for HNC: %w", err)
	}
	if have := ptr.Deref(d.Spec.Replicas, 1); have < want.Replicas || d.Status.ReadyReplicas < want.Replicas || d.Status.ObservedGeneration < d.Generation {
		return fmt.Sprintf("%d of %d pods of Deployment %s are ready", d.Status.ReadyReplicas, want.Replicas, want), nil
	}
	return "", nil
}

// scaleUp gives HNC its pods again. Its webhooks come only when it can answer.
func (h *handover) scaleUp(ctx context.Context) (string, error) {
	r, err := h.recorded(ctx)
	if err != nil {
		return "", err
	}
	var done []string
	for _, want := range r.Replicas {
		d, err := h.kube.AppsV1().Deployments(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", fmt.Errorf("there is no Deployment %s any more: install HNC again, and run the command again", want)
		}
		if err != nil {
			return "", fmt.Errorf("look for HNC: %w", err)
		}
		if ptr.Deref(d.Spec.Replicas, 1) < want.Replicas {
			if err := h.scale(ctx, want); err != nil {
				return "", err
			}
		}
		done = append(done, fmt.Sprintf("Deployment %s has %d", want, want.Replicas))
	}
	err = h.until(ctx, func(ctx context.Context) (string, error) {
		for _, want := range r.Replicas {
			if missing, err := h.notReady(ctx, want); missing != "" || err != nil {
				return missing + "; HNC's webhooks come back when it is ready", err
			}
		}
		return "", nil
	})
	if err != nil {
		return "", err
	}
	return strings.Join(done, " and ") + " pods, and they are ready", nil
}
