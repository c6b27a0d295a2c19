// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marks

import "github.com/prometheus/client_golang/prometheus"

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "holdfast_marks_writes_total",
	Help: "Writes of marks to objects, refused ones included.",
}, nil)

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) {
	r.MustRegister(writes)
	writes.WithLabelValues()
}
