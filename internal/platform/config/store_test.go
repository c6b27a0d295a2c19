// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

const (
	warn  = header + "deletion: {mode: Warn}\n"
	audit = header + "deletion: {mode: Audit}\n"
	bad   = header + "deletion: {mode: warn}\n"
)

var start = time.Unix(1_800_000_000, 0)

// newStore returns a store that has the configuration of header in force.
func newStore(t *testing.T) (*config.Store, *clocktesting.FakeClock) {
	t.Helper()
	clk := clocktesting.NewFakeClock(start)
	store, err := config.NewStore(clk, config.Loader{}, []byte(header), "start")
	if err != nil {
		t.Fatalf("new store: %v", err)
	}
	return store, clk
}

func TestNewStore_refusesABadStart(t *testing.T) {
	t.Parallel()
	store, err := config.NewStore(clocktesting.NewFakeClock(start), config.Loader{}, []byte(bad), "/etc/holdfast/config.yaml")
	if store != nil || err == nil {
		t.Fatalf("store %v, error %v; want an error", store, err)
	}
	want := "load configuration from /etc/holdfast/config.yaml: invalid configuration: deletion.mode: Unsupported value"
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q, want %q", err, want)
	}
	var invalid *config.InvalidError
	if !errors.As(err, &invalid) || invalid.Problems[0].Field != "deletion.mode" {
		t.Errorf("error %#v does not hold its problems", err)
	}
}

func TestStore_Offer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		offers    []string // "!" before an offer is a source that failed with the rest as its error
		mode      configv1alpha1.Mode
		changes   int
		successes int
		failures  int
		wantErr   string
	}{
		{name: "nothing offered leaves the start in force", mode: configv1alpha1.ModeEnforce},
		{name: "a good configuration comes into force", offers: []string{warn}, mode: configv1alpha1.ModeWarn, changes: 1, successes: 1},
		{name: "the same data is a no-op", offers: []string{header, warn, warn, warn}, mode: configv1alpha1.ModeWarn, changes: 1, successes: 1},
		{
			name: "another comment is no change", offers: []string{header + "# hello\n", header + "deletion: {mode: Enforce}\n"},
			mode: configv1alpha1.ModeEnforce, successes: 2,
		},
		{
			name: "a bad one is refused and the last good one stays", offers: []string{warn, bad},
			mode: configv1alpha1.ModeWarn, changes: 1, successes: 1, failures: 1, wantErr: "load configuration from test: invalid configuration: deletion.mode",
		},
		{
			name: "a bad one again is not counted again, and is refused again", offers: []string{bad, bad},
			mode: configv1alpha1.ModeEnforce, failures: 1, wantErr: "deletion.mode",
		},
		{
			name: "the last good one again mends it without a change", offers: []string{warn, bad, warn},
			mode: configv1alpha1.ModeWarn, changes: 1, successes: 2, failures: 1,
		},
		{
			name: "a source that failed keeps the last good one", offers: []string{warn, "!no such file", "!no such file"},
			mode: configv1alpha1.ModeWarn, changes: 1, successes: 1, failures: 1, wantErr: "load configuration from test: no such file",
		},
		{
			name: "another failure of the source is counted", offers: []string{"!no such file", "!not allowed"},
			mode: configv1alpha1.ModeEnforce, failures: 2, wantErr: "load configuration from test: not allowed",
		},
		{
			name: "the same data after a failure of the source mends it", offers: []string{warn, "!no such file", warn},
			mode: configv1alpha1.ModeWarn, changes: 1, successes: 2, failures: 1,
		},
		{name: "no data at all is refused", offers: []string{""}, mode: configv1alpha1.ModeEnforce, failures: 1, wantErr: "the document is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store, clk := newStore(t)
			registry := prometheus.NewPedanticRegistry()
			if err := config.RegisterMetrics(registry, store); err != nil {
				t.Fatalf("register metrics: %v", err)
			}
			changes := 0
			store.OnChange(func() {
				changes++
				if store.LastError() != nil || store.Current() == nil {
					t.Error("a callback does not see the new state")
				}
			})

			loaded := start
			var err error
			for _, offer := range test.offers {
				clk.Step(time.Second)
				const successes = "holdfast_config_reloads_total success"
				before := measured(t, registry)[successes]
				if failure, failed := strings.CutPrefix(offer, "!"); failed {
					err = store.Reject(errors.New(failure), "test")
				} else {
					err = store.Offer([]byte(offer), "test")
				}
				if measured(t, registry)[successes] != before {
					loaded = clk.Now()
				}
			}

			if got := store.Current().Deletion.Mode; got != test.mode {
				t.Errorf("mode %s in force, want %s", got, test.mode)
			}
			if changes != test.changes {
				t.Errorf("%d changes, want %d", changes, test.changes)
			}
			if message(err) != message(store.LastError()) {
				t.Errorf("error %q, last error %q", message(err), message(store.LastError()))
			}
			if !strings.Contains(message(err), test.wantErr) || (err != nil) != (test.wantErr != "") {
				t.Errorf("error %q does not say %q", message(err), test.wantErr)
			}
			successful := 1.0
			if err != nil {
				successful = 0
			}
			want := map[string]float64{
				"holdfast_config_last_reload_successful":        successful,
				"holdfast_config_last_reload_timestamp_seconds": float64(loaded.Unix()),
				"holdfast_config_reloads_total success":         float64(test.successes),
				"holdfast_config_reloads_total failure":         float64(test.failures),
			}
			if diff := cmp.Diff(want, measured(t, registry)); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

// measured returns every metric by its name and the values of its labels.
func measured(t *testing.T, gatherer prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatalf("gather: %v", err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return values
}

func TestStore_Current_isNotTouchedByWhatFollows(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	before := store.Current()
	copied := before.DeepCopy()
	data := []byte(warn)
	if err := store.Offer(data, "test"); err != nil {
		t.Fatal(err)
	}
	data[0] = 'X' // the caller may use its buffer again
	if err := store.Offer([]byte(warn), "test"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(copied, before); diff != "" {
		t.Errorf("the configuration of before (-want +got):\n%s", diff)
	}
}

func TestStore_concurrentUse(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	if err := config.RegisterMetrics(prometheus.NewRegistry(), store); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			store.OnChange(func() { _ = store.Current() })
			for _, offer := range []string{warn, bad, audit, header} {
				if err := store.Offer([]byte(offer), "test"); (err != nil) != (offer == bad) {
					t.Errorf("offer: %v", err)
				}
				if i%4 == 0 {
					_ = store.Reject(errors.New("no such file"), "test")
				}
				if store.Current().Kind == "" {
					t.Error("no configuration in force")
				}
				_ = store.LastError()
			}
		})
	}
	group.Wait()
}
