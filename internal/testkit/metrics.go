// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"net/http"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metric sums all series of one of the manager's metrics whose labels include
// those given.
func (e *Env) Metric(t testing.TB, name string, labels ...*dto.LabelPair) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.Manager.Metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("scrape the manager: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatalf("read the manager's metrics: %v", err)
	}
	sum := 0.0
	for _, m := range families[name].GetMetric() {
		if hasLabels(m, labels) {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}

// Writes is how many requests that write the manager has made to the API server.
func (e *Env) Writes(t testing.TB) float64 {
	t.Helper()
	sum := 0.0
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		sum += e.Metric(t, "rest_client_requests_total", Label("method", method))
	}
	return sum
}

// Label is a label of a metric.
func Label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

func hasLabels(m *dto.Metric, labels []*dto.LabelPair) bool {
	for _, want := range labels {
		found := false
		for _, got := range m.GetLabel() {
			found = found || got.GetName() == want.GetName() && got.GetValue() == want.GetValue()
		}
		if !found {
			return false
		}
	}
	return true
}
