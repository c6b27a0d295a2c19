// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe tests what Holdfast lets people see: its metrics, what the audit
// log has of its verdicts, and what it tells of what it only would have refused.
package observe

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/metricdoc"
)

const root = "../.."

// ours says which metrics are Holdfast's own, and not those of its libraries.
func ours(name string) bool {
	return strings.HasPrefix(name, "holdfast_") || strings.HasPrefix(name, "hnc_")
}

// The table is what is served, by guard and sync, with all features on.
func TestMetrics_areThoseOfTheTable(t *testing.T) {
	t.Parallel()
	e := everything(t, nil)
	s := e.StartSync(t)
	// One that is wrong has all that is counted of each, and needs no source.
	e.Apply(t, "config-management-system", "{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: a}}")
	provoke(t, e)
	table, err := metricdoc.Read()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]map[string]*dto.MetricFamily{}
	gomega.NewWithT(t).Eventually(func() string {
		served["guard"], served["sync"] = scrape(t, e.Manager), scrape(t, s)
		return missing(table, served)
	}, "180s", "500ms").Should(gomega.BeEmpty(), "in the table, and not served")

	all := map[string]*dto.MetricFamily{}
	for process, families := range served {
		maps.Copy(all, families)
		for name, f := range families {
			if m, known := table[name]; known {
				hold(t, name, m, f)
			} else {
				t.Errorf("%s serves %s, and it is not in %s", process, name, metricdoc.Page)
			}
		}
	}
	problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(all))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// missing are the metrics that a process should serve, and does not.
func missing(table map[string]metricdoc.Metric, served map[string]map[string]*dto.MetricFamily) string {
	var out []string
	for name, m := range table {
		for _, process := range m.Processes {
			if served[process][name] == nil {
				out = append(out, process+": "+name)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// hold holds what is served against its row.
func hold(t *testing.T, name string, m metricdoc.Metric, f *dto.MetricFamily) {
	t.Helper()
	if got := strings.ToLower(f.GetType().String()); got != m.Type {
		t.Errorf("%s is a %s, and the table says %s", name, got, m.Type)
	}
	for _, series := range f.GetMetric() {
		var labels []string
		for _, l := range series.GetLabel() {
			labels = append(labels, l.GetName())
			if !m.Has(l.GetName(), l.GetValue()) && len(m.Labels[l.GetName()]) > 0 {
				t.Errorf("%s has %s=%q, and the table does not", name, l.GetName(), l.GetValue())
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(m.Labels)), slices.Sorted(slices.Values(labels))); diff != "" {
			t.Errorf("%s: labels (-table +served)\n%s", name, diff)
			return
		}
	}
}

// provoke has a series of each metric come to be that has none before the first of
// its kind.
func provoke(t *testing.T, e *testkit.Env) {
	t.Helper()
	ns := e.Namespace(t)
	e.Apply(t, ns, "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy}, spec: {}}")
	e.Apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}")
	if err := evict(t, e, ns, "a"); err != nil {
		t.Fatal(err)
	}
	if out := e.Kubectl(t, "delete", "namespace", ns, "--wait=false"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
}

// scrape reads the metrics of a process that are Holdfast's own.
func scrape(t *testing.T, p *manager.Process) map[string]*dto.MetricFamily {
	t.Helper()
	resp, err := http.Get(p.Metrics + "/metrics") //nolint:noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return !ours(name) })
	return families
}

// A vector without series is not in a scrape, but its name is in the sources.
func TestMetrics_thatTheSourcesNameAreInTheTable(t *testing.T) {
	t.Parallel()
	table, err := metricdoc.Read()
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`"((?:holdfast|hnc)_[a-z_]+)"`)
	found := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
			if _, known := table[m[1]]; !known {
				t.Errorf("%s names %s, and it is not in %s", path, m[1], metricdoc.Page)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range table {
		if !found[name] {
			t.Errorf("%s has %s, and no source names it", metricdoc.Page, name)
		}
	}
}
