// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/internal/testkit/metricdoc"
)

type position struct{ H, W, X, Y int }

func (p position) overlaps(o position) bool {
	return p.X < o.X+o.W && o.X < p.X+p.W && p.Y < o.Y+o.H && o.Y < p.Y+p.H
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  position
	Datasource               struct{ UID string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
}

type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

func drawn(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// variables are as Grafana might put them in.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$namespace", "holdfast-system")

func TestDashboard_asksForWhatIsThere(t *testing.T) {
	t.Parallel()
	table, err := metricdoc.Read()
	if err != nil {
		t.Fatal(err)
	}
	d := drawn(t)
	asked := ""
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expr := variables.Replace(target.Expr)
			asked += expr + "\n"
			if strings.Contains(expr, "$") {
				t.Errorf("%s has a variable that nobody fills in: %s", p.Title, target.Expr)
				continue
			}
			holds(t, table, p.Title, expr)
		}
	}
	// What needs nobody's eyes, and what another panel shows more of.
	left := []string{"holdfast_admission_writes_total", "holdfast_certificate_rotations_total", "holdfast_config_last_reload_timestamp_seconds", "holdfast_config_reloads_total", "holdfast_eviction_namespace_filtered_total"}
	for name := range table {
		if strings.Contains(asked, name) == slices.Contains(left, name) {
			t.Errorf("%s is drawn, and listed as not drawn, or neither", name)
		}
	}
	for _, v := range d.Templating.List {
		if name, _, _ := strings.Cut(strings.TrimPrefix(v.Definition, "label_values("), ","); v.Type == "query" && table[name].Type == "" {
			t.Errorf("the variable %s is about %s, which is not there", v.Name, name)
		}
	}
}

func TestDashboard_canBeRead(t *testing.T) {
	t.Parallel()
	d := drawn(t)
	var rows, names []string
	seen := map[int]string{}
	for i, p := range d.Panels {
		if other, twice := seen[p.ID]; twice || p.ID < 1 {
			t.Errorf("%s has the id %d, as has %q", p.Title, p.ID, other)
		}
		seen[p.ID] = p.Title
		if p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X < 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s is at %+v", p.Title, p.GridPos)
		}
		for _, o := range d.Panels[:i] {
			if p.GridPos.overlaps(o.GridPos) {
				t.Errorf("%s lies on %s", p.Title, o.Title)
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %d, %q, lacks a title, a description, a unit, the data source or what it asks for", p.ID, p.Title)
		}
		for _, target := range p.Targets {
			if target.RefID == "" || target.Datasource.UID != "${datasource}" {
				t.Errorf("a target of %s lacks its id or the data source", p.Title)
			}
		}
	}
	want := []string{"Is it in force", "Verdicts", "Deletions", "Evictions", "Trees of namespaces", "Service accounts", "RootSyncs", "Processes"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("sections (-want +got)\n%s", diff)
	}
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
	}
	if diff := cmp.Diff([]string{"datasource", "namespace"}, names); diff != "" {
		t.Errorf("variables (-want +got)\n%s", diff)
	}
}
