// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"fmt"

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

// ReadConfigMap reads the configuration out of the ConfigMap. One without the
// key is the empty configuration, every default, so that the manifest which
// makes the ConfigMap can be applied again without touching what people wrote.
func ReadConfigMap(ctx context.Context, reader client.Reader, name types.NamespacedName) ([]byte, error) {
	var cm corev1.ConfigMap
	if err := reader.Get(ctx, name, &cm); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return documentIn(&cm), nil
}

func documentIn(cm *corev1.ConfigMap) []byte {
	if data, found := cm.Data[DataKey]; found {
		return []byte(data)
	}
	return []byte(Empty)
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
	from := "ConfigMap " + s.name.String()
	before := s.store.Current()
	data, err := ReadConfigMap(ctx, s.reader, s.name)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, reconcile.TerminalError(s.store.Reject(err, from))
	}
	if err := s.store.Offer(data, from); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	if s.store.Current() != before {
		log.FromContext(ctx).Info("Configuration changed")
	}
	return reconcile.Result{}, nil
}
