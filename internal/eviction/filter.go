// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
)

// filterReport is how often the log says what was let go because of its namespace.
const filterReport = 5 * time.Minute

// mostNamespaces bounds what the summary counts apart.
const mostNamespaces = 10_000

// filter counts the evictions that are out of scope.
type filter struct {
	mu         sync.Mutex
	evictions  int
	namespaces sets.Set[string]
}

func (f *filter) count(namespace string) {
	filtered.Inc()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.namespaces == nil {
		f.namespaces = sets.Set[string]{}
	}
	f.evictions++
	if len(f.namespaces) < mostNamespaces {
		f.namespaces.Insert(namespace)
	}
}

// take returns what was counted since the last time.
func (f *filter) take() (evictions, namespaces int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	evictions, namespaces = f.evictions, len(f.namespaces)
	f.evictions, f.namespaces = 0, nil
	return evictions, namespaces
}

// NeedLeaderElection is false: every replica answers.
func (f *filter) NeedLeaderElection() bool { return false }

// Start logs a summary once in a while, if there is something to tell.
func (f *filter) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(context.Context) {
		if evictions, namespaces := f.take(); evictions > 0 {
			ctrl.Log.WithName("eviction").Info("Evictions passed because their namespaces are not in the watch list",
				"evictions", evictions, "namespaces", namespaces, "within", filterReport.String())
		}
	}, filterReport)
	return nil
}
