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

// RegisterMetrics registers what a Keeper counts.
func RegisterMetrics(r prometheus.Registerer) { r.MustRegister(writes) }
