// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"github.com/prometheus/client_golang/prometheus"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

var writes = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "holdfast_hierarchy_writes_total",
	Help: "Writes to copies, namespaces, HierarchyConfigurations, anchors and the HNCConfiguration, by what was done.",
}, []string{"what"})

var decided = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "holdfast_hierarchy_copies_decided_total",
	Help: "Places for copies that were looked at, whether anything was written or not.",
})

// conditioned has the name and the labels that it has in HNC, so that what people have
// built on it goes on.
var conditioned = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "hnc_namespace_conditions",
	Help: "Namespaces that have a condition, by its type and reason. The leader counts.",
}, []string{"Condition", "Reason"})

// problems are all that a namespace can have a condition for.
var problems = []world.Problem{
	{Type: hncv1alpha2.ConditionActivitiesHalted, Reason: hncv1alpha2.ReasonAncestorHalted},
	{Type: hncv1alpha2.ConditionActivitiesHalted, Reason: hncv1alpha2.ReasonDeletingCRD},
	{Type: hncv1alpha2.ConditionActivitiesHalted, Reason: hncv1alpha2.ReasonIllegalParent},
	{Type: hncv1alpha2.ConditionActivitiesHalted, Reason: hncv1alpha2.ReasonInCycle},
	{Type: hncv1alpha2.ConditionActivitiesHalted, Reason: hncv1alpha2.ReasonParentMissing},
	{Type: hncv1alpha2.ConditionBadConfiguration, Reason: hncv1alpha2.ReasonAnchorMissing},
	{Type: hncv1alpha2.ConditionBadConfiguration, Reason: hncv1alpha2.ReasonIllegalManagedAnnotation},
	{Type: hncv1alpha2.ConditionBadConfiguration, Reason: hncv1alpha2.ReasonIllegalManagedLabel},
}

// countProblems sets what is counted, those that nobody has too: an alert on what is
// not there never ends.
func countProblems(of map[world.Problem]int) {
	for _, p := range problems {
		conditioned.WithLabelValues(p.Type, p.Reason).Set(float64(of[p]))
	}
}

// RegisterMetrics registers what a Keeper counts, from nothing on.
func RegisterMetrics(r prometheus.Registerer) {
	for _, what := range []string{
		string(create), string(update), string(remove), "replace",
		"namespace", "completion", "hierarchyconfiguration", "anchor", "subnamespace", "hncconfiguration",
	} {
		writes.WithLabelValues(what)
	}
	countProblems(nil)
	r.MustRegister(writes, decided, conditioned)
}
