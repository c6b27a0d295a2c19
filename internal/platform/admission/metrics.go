// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/prometheus/client_golang/prometheus"

var (
	// Gauges that only the leader knows have no value on other replicas.
	anchorPresent = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "holdfast_anchor_present",
		Help: "1 while the ClusterRole holdfast-anchor exists; 0 means that Holdfast refuses nothing. The leader has it.",
	}, nil)
	allInstalled = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "holdfast_admission_installed",
		Help: "1 while every declared policy, binding and webhook is in the API server as declared. The leader has it.",
	}, nil)
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_admission_writes_total",
		Help: "Writes of Holdfast's own admission objects.",
	}, []string{"kind", "verb"})
	repairs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_admission_repairs_total",
		Help: "Admission objects that were put back after somebody changed or deleted them by hand.",
	}, []string{"kind"})
)

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) {
	r.MustRegister(anchorPresent, allInstalled, writes, repairs)
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		repairs.WithLabelValues(kind) // so that the first one is an increase
	}
}
