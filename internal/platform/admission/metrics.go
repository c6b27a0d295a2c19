// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

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
	refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_webhook_refusals_total",
		Help: "Requests that a webhook found a reason against, by its name and mode: refused in Enforce, and let pass in Warn and Audit. Dry runs count.",
	}, []string{"webhook", "mode"})
)

// RegisterMetrics adds this package's metrics to a registry. The webhooks are those
// that can be declared, whatever their mode.
func RegisterMetrics(r prometheus.Registerer, webhooks []Webhook) {
	r.MustRegister(anchorPresent, allInstalled, writes, repairs, refusals)
	for _, w := range webhooks {
		for _, mode := range []configv1alpha1.Mode{configv1alpha1.ModeAudit, configv1alpha1.ModeWarn, configv1alpha1.ModeEnforce} {
			refusals.WithLabelValues(w.Name, string(mode))
		}
	}
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		repairs.WithLabelValues(kind) // so that the first one is an increase
	}
}
