// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"github.com/prometheus/client_golang/prometheus"
)

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "holdfast_hierarchy_writes_total",
	Help: "Writes to copies, namespaces, HierarchyConfigurations, anchors and the HNCConfiguration, by what was done.",
}, []string{"what"})

var decided = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "holdfast_hierarchy_copies_decided_total",
	Help: "Places for copies that were looked at, whether anything was written or not.",
})

// RegisterMetrics registers what a Keeper counts.
func RegisterMetrics(r prometheus.Registerer) { r.MustRegister(writes, decided) }
