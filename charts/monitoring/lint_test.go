// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests the alerts and the dashboard, by Prometheus's own parser and
// engine: what they ask for is there, and each alert fires when it should. It is in this
// module so that Holdfast does not depend on Prometheus.
package monitoring

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/metricdoc"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const root = "../.."

// wellKnown are metrics of others that may be asked for, with the labels that are
// used of them.
var wellKnown = map[string][]string{
	"apiserver_admission_webhook_admission_duration_seconds": {"name"},
	"apiserver_admission_webhook_fail_open_count":            {"name"},
	"apiserver_admission_webhook_rejection_count":            {"name", "error_type"},
	"apiserver_validating_admission_policy_check_total":      {"policy", "enforcement_action"},
	"controller_runtime_webhook_requests_total":              {"webhook", "code"},
	"process_cpu_seconds_total":                              nil,
	"process_resident_memory_bytes":                          nil,
	"rest_client_requests_total":                             {"code", "method"},
	"workqueue_depth":                                        {"name"},
}

// targetLabels are those that Prometheus adds to what it scrapes.
var targetLabels = []string{"instance", "job", "namespace", "pod"}

func groups(t *testing.T) *rulefmt.RuleGroups {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config", "monitoring", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), promslog.NewNopLogger())
	for _, err := range errs {
		t.Fatal(err)
	}
	return out
}

func parsed(t *testing.T, expr string) parser.Expr {
	t.Helper()
	out, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%v:\n%s", err, expr)
	}
	return out
}

// metric finds a metric, which may be a part of a histogram.
func metric(table map[string]metricdoc.Metric, name string) (m metricdoc.Metric, more []string, known bool) {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		base, has := strings.CutSuffix(name, suffix)
		if !has {
			continue
		}
		if suffix == "_bucket" {
			more = []string{"le"}
		}
		if m, ours := table[base]; ours && (suffix == "" || m.Type == "histogram") {
			return m, more, true
		}
		if names, theirs := wellKnown[base]; theirs {
			m.Labels = map[string][]string{}
			for _, l := range names {
				m.Labels[l] = nil
			}
			return m, more, true
		}
	}
	return m, nil, false
}

// holds says what is wrong with the names in an expression.
func holds(t *testing.T, table map[string]metricdoc.Metric, where, expr string) {
	t.Helper()
	labelled := map[string]bool{}
	var grouped []string
	parser.Inspect(parsed(t, expr), func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			selects(t, table, where, n, labelled)
		case *parser.AggregateExpr:
			grouped = append(grouped, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				grouped = append(grouped, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	for _, l := range grouped {
		if !labelled[l] {
			t.Errorf("%s groups by %s, which no metric in it has", where, l)
		}
	}
}

func selects(t *testing.T, table map[string]metricdoc.Metric, where string, n *parser.VectorSelector, labelled map[string]bool) {
	t.Helper()
	m, more, known := metric(table, n.Name)
	if !known {
		t.Errorf("%s asks for %s, which is neither in %s nor well-known", where, n.Name, metricdoc.Page)
		return
	}
	have := slices.Concat(slices.Collect(maps.Keys(m.Labels)), more, targetLabels)
	for _, l := range have {
		labelled[l] = true
	}
	for _, l := range n.LabelMatchers {
		switch {
		case l.Name == model.MetricNameLabel:
		case !slices.Contains(have, l.Name):
			t.Errorf("%s: %s has no label %s", where, n.Name, l.Name)
		case len(m.Labels[l.Name]) > 0 && !slices.ContainsFunc(m.Labels[l.Name], l.Matches):
			t.Errorf("%s: %s has no value of %s that %s finds", where, n.Name, l.Name, l)
		}
	}
}

var pageURL = regexp.MustCompile(`^https://github[.]com/holdfast-dev/holdfast/blob/main/(docs/[a-z/-]+[.]md)$`)

// page says whether the page of an alert is there.
func page(t *testing.T, url string) bool {
	t.Helper()
	m := pageURL.FindStringSubmatch(url)
	if m == nil {
		return false
	}
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1])))
	return err == nil
}

func TestAlerts_areWellFormed(t *testing.T) {
	t.Parallel()
	table, err := metricdoc.Read()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range groups(t).Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Holdfast") {
				t.Errorf("%q is there twice, or does not begin with Holdfast", r.Alert)
			}
			seen[r.Alert] = true
			if severity := r.Labels["severity"]; severity != "critical" && severity != "warning" {
				t.Errorf("%s has the severity %q", r.Alert, severity)
			}
			for _, key := range []string{"summary", "description"} {
				if !strings.HasSuffix(r.Annotations[key], ".") {
					t.Errorf("%s: the %s is no sentence: %q", r.Alert, key, r.Annotations[key])
				}
			}
			if url := r.Annotations["runbook_url"]; !page(t, url) {
				t.Errorf("%s: there is no page %q", r.Alert, url)
			}
			holds(t, table, r.Alert, r.Expr)
		}
	}
}
