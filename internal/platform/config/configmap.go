// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// DataKey is the key of the ConfigMap that holds the configuration.
const DataKey = "config.yaml"

// ReadConfigMap reads the configuration out of the ConfigMap. One without any key is the empty configuration, every default, so
// that the manifest which makes the ConfigMap can be applied again without touching what people wrote.
func ReadConfigMap(ctx context.Context, reader client.Reader, name types.NamespacedName) ([]byte, error) {
	var cm corev1.ConfigMap
	if err := reader.Get(ctx, name, &cm); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	data, _, err := documentIn(&cm)
	return data, err
}

// documentIn returns the configuration in a ConfigMap. Written is false where there is none, which is every default; a ConfigMap
// that holds something else was meant to have one.
func documentIn(cm *corev1.ConfigMap) (data []byte, written bool, err error) {
	if data, found := cm.Data[DataKey]; found {
		return []byte(data), true, nil
	}
	if _, found := cm.BinaryData[DataKey]; found {
		return nil, false, fmt.Errorf("the key %s is in binaryData: write the configuration as text, in data", DataKey)
	}
	if keys := slices.Sorted(maps.Keys(cm.Data)); len(keys) > 0 {
		return nil, false, fmt.Errorf("there is no key %s, but %s: write the configuration in that key", DataKey, strings.Join(keys, ", "))
	}
	return []byte(Empty), false, nil
}

// MapSource feeds a store from a ConfigMap, on every replica. It needs the
// rights to get, list and watch that one ConfigMap; the manager's cache is
// expected to hold no other.
type MapSource struct {
	store  *Store
	reader client.Reader
	name   types.NamespacedName
}

// NewMapSource returns the controller for the ConfigMap with the name.
func NewMapSource(store *Store, reader client.Reader, name types.NamespacedName) *MapSource {
	return &MapSource{store: store, reader: reader, name: name}
}

// SetupWithManager adds the controller to the manager.
func (s *MapSource) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("config.configmap").
		For(&corev1.ConfigMap{}, builder.WithPredicates(predicate.NewPredicateFuncs(s.isOurs))).
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Complete(s)
}

func (s *MapSource) isOurs(object client.Object) bool {
	return client.ObjectKeyFromObject(object) == s.name
}

// Reconcile offers the content to the store. What is missing or wrong is
// terminal, because only another event can mend it.
func (s *MapSource) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	before := s.store.Current()
	var cm corev1.ConfigMap
	err := s.reader.Get(ctx, s.name, &cm)
	if err != nil && !apierrors.IsNotFound(err) {
		return reconcile.Result{}, fmt.Errorf("read configuration: %w", err)
	}
	if err := s.take(&cm, err); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	if s.store.Current() != before {
		log.FromContext(ctx).Info("Configuration changed")
	}
	return reconcile.Result{}, nil
}

// take offers what a ConfigMap has, or rejects why it could not be read.
func (s *MapSource) take(cm *corev1.ConfigMap, missing error) error {
	from := "ConfigMap " + s.name.String()
	if missing != nil {
		return s.store.Reject(fmt.Errorf("read configuration: %w", missing), from)
	}
	data, written, err := documentIn(cm)
	switch {
	case err != nil:
		return s.store.Reject(err, from)
	case !written:
		return s.store.Withdraw(from)
	}
	return s.store.Offer(data, from)
}
