// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/prometheus/client_golang/prometheus"

var (
	anchorPresent = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_anchor_present",
		Help: "1 while the ClusterRole holdfast-anchor exists; 0 means that Holdfast refuses nothing.",
	})
	installed = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "holdfast_admission_installed",
		Help: "1 while every declared policy, binding and webhook is in the API server as declared.",
	})
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_admission_writes_total",
		Help: "Writes of Holdfast's own admission objects; after the start each one repairs something or follows a change of configuration.",
	}, []string{"kind", "verb"})
)

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) {
	r.MustRegister(anchorPresent, installed, writes)
}
