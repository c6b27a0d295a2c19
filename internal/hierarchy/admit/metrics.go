// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import "github.com/prometheus/client_golang/prometheus"

var duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "holdfast_hierarchy_admission_seconds",
	Help:    "How long the webhooks for trees of namespaces took, by webhook and outcome.",
	Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 2, 5, 8},
}, []string{"webhook", "outcome"})

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) { r.MustRegister(duration) }
