// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// read returns the Secret, nil if it does not exist.
func (m *Manager) read(ctx context.Context) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := m.client.Get(ctx, m.secret, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read Secret %s: %w", m.secret, err)
	}
	return &secret, nil
}

// save writes a state into the Secret unless it is there already. It says no if
// another replica was faster, or if it is too soon after the last attempt: then
// the Secret must be read again.
func (m *Manager) save(ctx context.Context, secret *corev1.Secret, state State) (bool, error) {
	data, err := Encode(state)
	if err != nil {
		return false, err
	}
	if secret != nil && holds(secret, data) {
		return true, nil
	}
	now := m.clock.Now()
	if since := now.Sub(m.lastWrite); since >= 0 && since < shortestPause {
		return false, nil
	}
	m.lastWrite = now
	if err := m.write(ctx, secret, data); err != nil {
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && secret != nil {
			return false, nil
		}
		return false, fmt.Errorf("write Secret %s: %w", m.secret, err)
	}
	return true, nil
}

// write creates the Secret, or updates it if nobody else has since it was read.
func (m *Manager) write(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	if secret == nil {
		return m.client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: m.secret.Namespace,
				Name:      m.secret.Name,
				Labels:    map[string]string{"app.kubernetes.io/managed-by": "holdfast"},
			},
			Type: corev1.SecretTypeTLS,
			Data: data,
		})
	}
	changed := secret.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	for _, key := range ownKeys {
		delete(changed.Data, key)
	}
	maps.Copy(changed.Data, data)
	return m.client.Update(ctx, changed)
}

// holds says whether a Secret holds these data under Holdfast's keys.
func holds(secret *corev1.Secret, data map[string][]byte) bool {
	for _, key := range ownKeys {
		if !bytes.Equal(secret.Data[key], data[key]) {
			return false
		}
	}
	return true
}
