// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	marksWritten  = "holdfast_marks_writes_total"
	objectsKnown  = "holdfast_deletion_known_objects"
	watches       = "holdfast_deletion_watches"
	watchesBehind = "holdfast_deletion_watches_unsynced"
)

// figures are the manager's metrics at a moment.
type figures map[string]*dto.MetricFamily

func (s *subject) figures(ctx context.Context) (figures, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Manager.Metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scrape the manager: %w", err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the manager's metrics: %w", err)
	}
	return families, nil
}

// get sums all series of a metric.
func (f figures) get(name string) (sum float64) {
	for _, m := range f[name].GetMetric() {
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return sum
}

var writing = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// writes is how many requests that write the manager has made to the API server.
func (f figures) writes() (sum float64) {
	for _, m := range f["rest_client_requests_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "method" && slices.Contains(writing, l.GetValue()) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// rest waits until the manager has written nothing for a while, and returns its
// metrics then.
func (s *subject) rest(ctx context.Context) (last figures, err error) {
	const calm = 3 // seconds: longer than the text of a mark may wait
	same := -1
	err = await(ctx, "the manager has nothing to write", time.Second, func(ctx context.Context) (bool, error) {
		now, err := s.figures(ctx)
		if err != nil {
			return false, err
		}
		if last != nil && now.writes() != last.writes() {
			same = -1
		}
		same++
		last = now
		return same >= calm, nil
	})
	return last, err
}

// residentMiB asks ps, which is everywhere.
func (s *subject) residentMiB() (float64, error) {
	pid := s.Manager.PID()
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ask for the memory of process %d: %w", pid, err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return kib / 1024, nil
}
