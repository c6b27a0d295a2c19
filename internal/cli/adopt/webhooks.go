// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kept says where what HNC was is kept.
func (h *handover) kept() string {
	return fmt.Sprintf("ConfigMap %s/%s", h.Namespace, RecordName)
}

func (h *handover) lookWebhooks(ctx context.Context) (bool, string, error) {
	f, err := find(ctx, h.kube)
	if err != nil {
		return false, "", err
	}
	r, err := h.load(ctx)
	switch {
	case err != nil:
		return false, "", err
	case len(f.webhooks) > 0:
		return false, fmt.Sprintf("remove %s, and keep them in %s", join(f.webhooks), h.kept()), nil
	case r.fromFile:
		return false, fmt.Sprintf("put what the file %s keeps into %s", h.Record, h.kept()), nil
	}
	return true, "there are no webhook configurations of HNC", nil
}

// taken is what lives of HNC, and the record with all of it, which is to be kept before
// anything is taken away.
func (h *handover) taken(ctx context.Context) (found, *record, error) {
	f, err := find(ctx, h.kube)
	if err != nil {
		return found{}, nil, err
	}
	r, err := h.load(ctx)
	if err != nil {
		return found{}, nil, err
	}
	r.take(f)
	return f, r, nil
}

func (h *handover) removeWebhooks(ctx context.Context) (string, error) {
	f, r, err := h.taken(ctx)
	if err != nil {
		return "", err
	}
	if err := h.keep(ctx, r); err != nil {
		return "", err
	}
	if len(f.webhooks) == 0 {
		return fmt.Sprintf("put what the file %s kept into %s; the file is not needed any more", h.Record, h.kept()), nil
	}
	if err := h.deleteWebhooks(ctx, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("removed %s; they are kept in %s", join(f.webhooks), h.kept()), nil
}

// deleteWebhooks deletes those that were found, and waits until they are gone.
func (h *handover) deleteWebhooks(ctx context.Context, f found) error {
	for _, w := range f.webhooks {
		err := h.dynamic.Resource(resourceOf(w.Kind)).Delete(ctx, w.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &w.uid},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove %s: %w", w, err)
		}
	}
	return h.until(ctx, func(ctx context.Context) (string, error) {
		now, err := find(ctx, h.kube)
		if err != nil || len(now.webhooks) == 0 {
			return "", err
		}
		return join(now.webhooks) + ": still there, or made again; if something keeps HNC installed, such as Argo CD or Flux, stop it first", nil
	})
}

func resourceOf(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: admissionGroup, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

func (h *handover) lookLocked(ctx context.Context) (bool, string, error) {
	f, err := find(ctx, h.kube)
	if err != nil {
		return false, "", err
	}
	if !f.locks() {
		return true, "no webhook without an answer refuses writes", nil
	}
	return false, fmt.Sprintf("remove %s: nobody answers for HNC, so the API server refuses to write any namespace", join(f.webhooks)), nil
}

// unlock takes the webhooks of a dead HNC away, before anything else can be done. It
// may well be that there is no place in the cluster to keep them in: then a file has
// to do until there is.
func (h *handover) unlock(ctx context.Context) (string, error) {
	f, r, err := h.taken(ctx)
	if err != nil {
		return "", err
	}
	where := h.kept()
	if err := h.keep(ctx, r); err != nil {
		if !noPlace(err) {
			return "", err
		}
		if err := h.keepFile(ctx, r); err != nil {
			return "", err
		}
		where = "the file " + h.Record + ", which the next run puts into the cluster"
	}
	if err := h.deleteWebhooks(ctx, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("removed %s; namespaces can be written again. They are kept in %s", join(f.webhooks), where), nil
}

// noPlace says whether a ConfigMap cannot be written because there is no namespace
// for it, or because the webhooks that are to go refuse it.
func noPlace(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), webhookSuffix)
}

// lookRestored is about the webhooks on the way back.
func (h *handover) lookRestored(ctx context.Context) (bool, string, error) {
	r, err := h.recorded(ctx)
	if err != nil {
		return false, "", err
	}
	missing, err := h.missing(ctx, r)
	if err != nil {
		return false, "", err
	}
	if len(missing) == 0 {
		return true, join(r.ids()) + " are there", nil
	}
	return false, "make again " + join(missing), nil
}

func (h *handover) missing(ctx context.Context, r *record) ([]id, error) {
	var out []id
	for _, i := range r.ids() {
		_, err := getWebhook(ctx, h.kube, i.kind, i.name)
		if apierrors.IsNotFound(err) {
			out = append(out, i)
		} else if err != nil {
			return nil, fmt.Errorf("look for HNC: %w", err)
		}
	}
	return out, nil
}

// restoreWebhooks makes HNC's webhook configurations again, and waits until somebody
// answers for them.
func (h *handover) restoreWebhooks(ctx context.Context) (string, error) {
	r, err := h.recorded(ctx)
	if err != nil {
		return "", err
	}
	missing, err := h.missing(ctx, r)
	if err != nil {
		return "", err
	}
	for _, w := range r.Webhooks {
		if !slices.Contains(missing, idOf(w)) {
			continue
		}
		_, err := h.dynamic.Resource(resourceOf(idOf(w).kind)).Create(ctx, &unstructured.Unstructured{Object: w}, metav1.CreateOptions{FieldManager: fieldManager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("make %s again: %w", idOf(w), err)
		}
	}
	err = h.until(ctx, func(ctx context.Context) (string, error) {
		f, err := find(ctx, h.kube)
		if err != nil || !f.dead() {
			return "", err
		}
		return "nobody answers for HNC", nil
	})
	if err != nil {
		return "", err
	}
	return "made again " + join(missing), nil
}

// recorded is what is kept, which there must be for the way back.
func (h *handover) recorded(ctx context.Context) (*record, error) {
	r, err := h.load(ctx)
	if err != nil {
		return nil, err
	}
	if len(r.Webhooks) == 0 && len(r.Replicas) == 0 {
		return nil, fmt.Errorf("there is no way back: %s, which a hand-over keeps, is not there%w", h.kept(), errInstallAgain)
	}
	return r, nil
}

var errInstallAgain = errors.New("; install HNC again, with hierarchy.mode Off or hierarchy.standBy in Holdfast's configuration")
