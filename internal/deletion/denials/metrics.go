// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package denials

import "github.com/prometheus/client_golang/prometheus"

var total = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "holdfast_deletion_denials_total",
	Help: "Deletions that at least one ResourceDeletionProtection refused, as far as audit events told this replica.",
}, nil)

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) {
	r.MustRegister(total)
	total.WithLabelValues()
}
