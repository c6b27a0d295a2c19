// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

var (
	writesTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_serviceaccount_writes_total",
		Help: "Writes to service accounts, by what they did.",
	}, []string{"action"})
	fightsTotal = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_serviceaccount_fights_total",
		Help: "Labels and annotations of service accounts that were given up for a while, because somebody else always sets them to something else.",
	})
	pendingDesc = prometheus.NewDesc("holdfast_serviceaccount_pending_changes",
		"Labels and annotations of service accounts that are not as their templates say, by what would become of them; "+
			"those that are yielded or in conflict stay as they are.", []string{"change"}, nil)
	problemDesc = prometheus.NewDesc("holdfast_serviceaccount_problems",
		"Service accounts that are not written, by why not.", []string{"problem"}, nil)
)

// RegisterMetrics adds the metrics of service accounts to a registry.
func (k *Keeper) RegisterMetrics(r prometheus.Registerer) {
	for _, do := range []plan.Do{plan.Create, plan.TakeOver, plan.Apply, plan.Replace, plan.Release, plan.LetGo, plan.Delete} {
		writesTotal.WithLabelValues(string(do))
	}
	r.MustRegister(writesTotal, fightsTotal, collector{k.known})
}

// collector counts when somebody asks.
type collector struct{ known *known }

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	out <- pendingDesc
	out <- problemDesc
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	t := c.known.totals()
	for _, kind := range []plan.Kind{plan.Added, plan.Changed, plan.Removed, plan.Yielded, plan.Conflicting, plan.Withheld} {
		out <- prometheus.MustNewConstMetric(pendingDesc, prometheus.GaugeValue, float64(t.changes[kind]), string(kind))
	}
	for _, p := range plan.Problems {
		out <- prometheus.MustNewConstMetric(problemDesc, prometheus.GaugeValue, float64(t.problems[p]), string(p))
	}
}
