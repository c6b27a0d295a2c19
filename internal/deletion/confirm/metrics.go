// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import "github.com/prometheus/client_golang/prometheus"

var duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "holdfast_deletion_confirm_seconds",
	Help:    "How long it took to look at what hangs below a Namespace or CustomResourceDefinition, by outcome.",
	Buckets: []float64{0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8},
}, []string{"resource", "outcome"})

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) { r.MustRegister(duration) }
