// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// The values of the label kind.
const (
	kindServing   = "serving"
	kindAuthority = "authority"
)

// Metrics are the metrics of one Manager.
type Metrics struct {
	expiry    *prometheus.GaugeVec
	rotations *prometheus.CounterVec
}

// NewMetrics registers the metrics. It returns an error if they are registered
// already.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := unregistered()
	for _, c := range []prometheus.Collector{m.expiry, m.rotations} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register certificate metrics: %w", err)
		}
	}
	return m, nil
}

func unregistered() *Metrics {
	m := &Metrics{
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "holdfast_certificate_expiry_timestamp_seconds",
			Help: "When the certificate that this replica presents, and the authority that signed it, expire (Unix time); absent until there is one.",
		}, []string{"kind"}),
		rotations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_certificate_rotations_total",
			Help: "How often this replica has replaced the certificate that it presents, or its authority, while it ran.",
		}, []string{"kind"}),
	}
	for _, kind := range []string{kindServing, kindAuthority} {
		m.rotations.WithLabelValues(kind)
	}
	return m
}

// observe records what was in force before, if anything, and is now.
func (m *Metrics) observe(before, after *material) {
	m.expiry.WithLabelValues(kindServing).Set(float64(after.leaf().NotAfter.Unix()))
	m.expiry.WithLabelValues(kindAuthority).Set(float64(after.authority.NotAfter.Unix()))
	if before == nil {
		return
	}
	if !before.leaf().Equal(after.leaf()) {
		m.rotations.WithLabelValues(kindServing).Inc()
	}
	if !before.authority.Equal(after.authority) {
		m.rotations.WithLabelValues(kindAuthority).Inc()
	}
}
