// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewMetrics(registry); err == nil {
		t.Error("the metrics were registered twice")
	}
	c := newCluster(t)
	m := c.replica()
	m.metrics = metrics
	compare := func(want map[string]float64) {
		t.Helper()
		if diff := cmp.Diff(want, gathered(t, registry)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	}
	const expiry, rotations = "holdfast_certificate_expiry_timestamp_seconds ", "holdfast_certificate_rotations_total "
	compare(map[string]float64{rotations + "authority": 0, rotations + "serving": 0})

	unix := func(from time.Time, d time.Duration) float64 { return float64(wholeSecond(from).Add(d).Unix()) }
	reconciled(t, m)
	compare(map[string]float64{
		expiry + "authority": unix(start, 5*year), expiry + "serving": unix(start, 90*day),
		rotations + "authority": 0, rotations + "serving": 0,
	})
	c.sleep(61 * day)
	reconciled(t, m)
	compare(map[string]float64{
		expiry + "authority": unix(start, 5*year), expiry + "serving": unix(c.clock.Now(), 90*day),
		rotations + "authority": 0, rotations + "serving": 1,
	})
	c.sleep(10 * year)
	reconciled(t, m)
	compare(map[string]float64{
		expiry + "authority": unix(c.clock.Now(), 5*year), expiry + "serving": unix(c.clock.Now(), 90*day),
		rotations + "authority": 1, rotations + "serving": 2,
	})
}

// gathered returns the values by the name of the metric and its kind, which is
// its only label.
func gathered(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if len(m.GetLabel()) != 1 {
				t.Fatalf("%s has the labels %v", f.GetName(), m.GetLabel())
			}
			out[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}
