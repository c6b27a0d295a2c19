// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package responder

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
)

// patience is how long the API server may take to say what it serves.
const patience = 10 * time.Second

// Served finds out whether the API server serves Evictions, and logs it when the
// answer changes.
type Served struct {
	discovery discovery.DiscoveryInterfaceWithContext

	mu          sync.Mutex
	known, last bool
}

// NewServed makes a Served.
func NewServed(d discovery.DiscoveryInterface) *Served {
	return &Served{discovery: discovery.ToDiscoveryInterfaceWithContext(d)}
}

// Ask asks the API server. While it does not answer, what it said before counts.
func (s *Served) Ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	log := ctrl.Log.WithName("eviction")
	served, err := s.ask(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		log.Error(err, "Whether the API server serves Evictions is not known")
	case s.known && served == s.last:
	case served:
		log.Info("The API server serves Evictions; Holdfast responds to those that name it", "version", Resource.GroupVersion())
	default:
		log.Info("The API server serves no Evictions, so Holdfast responds to none; the webhook for evictions works as ever. "+
			"They need the feature gate EvictionRequestAPI of Kubernetes and --runtime-config", "version", Resource.GroupVersion())
	}
	if err == nil {
		s.known, s.last = true, served
	}
	return s.last
}

func (s *Served) ask(ctx context.Context) (bool, error) {
	list, err := s.discovery.ServerResourcesForGroupVersionWithContext(ctx, Resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discover %s: %w", Resource.GroupVersion(), err)
	}
	return has(list.APIResources, Resource.Resource), nil
}

func has(all []metav1.APIResource, name string) bool {
	for i := range all {
		if all[i].Name == name {
			return true
		}
	}
	return false
}
