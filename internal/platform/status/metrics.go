// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var conditions = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "holdfast_condition",
	Help: "The conditions of the Holdfast object by type, 1 for True and 0 for anything else; only the leader knows.",
}, []string{"type"})

// RegisterMetrics adds this package's metrics to a registry.
func RegisterMetrics(r prometheus.Registerer) { r.MustRegister(conditions) }

// tell sets the gauges to what is in the status.
func tell(now []metav1.Condition) {
	conditions.Reset() // a feature can be off now
	for _, c := range now {
		value := 0.0
		if c.Status == metav1.ConditionTrue {
			value = 1
		}
		conditions.WithLabelValues(c.Type).Set(value)
	}
}
