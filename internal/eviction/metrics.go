// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/platform/uid"
)

var (
	reviews = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_eviction_reviews_total",
		Help: "Evictions judged, by what decided (policy, drain-cleaner, protection, none), outcome, whether they passed, and dry run.",
	}, []string{"by", "outcome", "allowed", "dry_run"})
	filtered = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_eviction_namespace_filtered_total",
		Help: "Evictions that passed at once because their namespace is out of scope. With filter Selector the API server lets them pass itself.",
	})
	patches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_eviction_pod_patches_total",
		Help: "Writes to pods that are to be moved, by result (ok, conflict, not-found, forbidden, error).",
	}, []string{"result"})
	duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "holdfast_eviction_review_seconds",
		Help:    "How long it took to judge an eviction, by what decided and outcome.",
		Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5},
	}, []string{"by", "outcome"})
	waitingPods = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_eviction_waiting_pods",
		Help: "Pods that EvictionPolicies hold now; only the leader knows.",
	})
)

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) {
	r.MustRegister(reviews, filtered, patches, duration, waitingPods)
	// So that an alert finds a series before the first of its kind.
	for _, allowed := range []bool{true, false} {
		reviews.WithLabelValues("none", "unjudged", strconv.FormatBool(allowed), "false")
	}
	patches.WithLabelValues(result(nil))
}

func count(by, outcome string, allowed, dryRun bool) {
	reviews.WithLabelValues(by, outcome, strconv.FormatBool(allowed), strconv.FormatBool(dryRun)).Inc()
}

func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case uid.Changed(err):
		return "conflict"
	case apierrors.IsNotFound(err):
		return "not-found"
	case apierrors.IsForbidden(err):
		return "forbidden"
	default:
		return "error"
	}
}
