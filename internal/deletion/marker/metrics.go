// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import "github.com/prometheus/client_golang/prometheus"

// RegisterMetrics adds this Marker's metrics to a registry.
func (m *Marker) RegisterMetrics(r prometheus.Registerer) {
	gauge := func(name, help string, value func() int) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			return float64(value())
		}))
	}
	gauge("holdfast_deletion_known_objects", "Objects that are protected, selected or marked, as far as this leader knows.",
		func() int { return len(m.known) })
	gauge("holdfast_deletion_watches", "Watches that the marks need, on this leader.", func() int { return len(m.sources) })
	gauge("holdfast_deletion_watches_unsynced", "Those of them whose objects are not all known yet; nothing is unmarked before.", func() int {
		n := 0
		for _, s := range m.sources {
			if !s.synced {
				n++
			}
		}
		return n
	})
	gauge("holdfast_deletion_watches_failing", "Those of them that fail now; what changes there is not seen.", func() int {
		n := 0
		for _, s := range m.sources {
			if s.err != "" {
				n++
			}
		}
		return n
	})
}
