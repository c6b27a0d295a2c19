// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
)

// standing is how a RootSync is, for those who count.
type standing string

const (
	isSynced    standing = "synced"
	isSyncing   standing = "syncing"
	isFailing   standing = "failing"
	isStalled   standing = "stalled"
	isSuspended standing = "suspended"
	isRemoved   standing = "removed" // it is being deleted
)

var standings = []standing{isSynced, isSyncing, isFailing, isStalled, isSuspended, isRemoved}

// measure is what there is to count of one RootSync.
type measure struct {
	standing standing
	errors   int
	// since is when it began not to be as its source says; zero while it is, and while
	// nobody wants it to be.
	since time.Time
}

// measured is the measure that follows on a former one.
func measured(f report.Facts, former measure, now time.Time) measure {
	m := measure{standing: isSyncing}
	if p := f.Progress; p != nil {
		m.errors = len(p.Fetched.Errors) + len(p.Rendered.Errors) + len(p.Synced.Errors)
		if p.At == report.AtSync && !p.Synced.Running && p.Synced.Commit == p.Fetched.Commit {
			m.standing = isSynced
		}
	}
	switch {
	case f.Teardown != nil:
		m.standing, m.errors = isRemoved, len(f.Teardown.Errors)
	case f.Stalled != nil:
		m.standing, m.errors = isStalled, 1
	case f.Suspended:
		m.standing = isSuspended
	case m.errors > 0:
		m.standing = isFailing
	}
	switch m.standing {
	case isSynced, isSuspended, isRemoved:
	default:
		if m.since = former.since; m.since.IsZero() {
			m.since = now
		}
	}
	return m
}

var (
	syncsDesc = prometheus.NewDesc("holdfast_rootsync_syncs", "RootSyncs by how they are. The leader has it.", []string{"status"}, nil)
	// The name of a RootSync is a label: there are as many as administrators have made, in one
	// namespace, and an alert that does not say which one it is about helps nobody.
	errorsDesc = prometheus.NewDesc("holdfast_rootsync_errors", "Errors in the status of a RootSync. The leader has it.", []string{"rootsync"}, nil)
	lagDesc    = prometheus.NewDesc("holdfast_rootsync_lag_seconds",
		"For how long a RootSync has not been as the newest commit of its source says; 0 while it is, or is suspended. The leader has it.", []string{"rootsync"}, nil)
)

// meters count what RootSyncs do.
type meters struct {
	objects, requests *prometheus.CounterVec
	fights            prometheus.Counter
}

const success, failure = "success", "failure"

func newMeters() *meters {
	m := &meters{
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rootsync_objects_total",
			Help: "Objects that were applied, put back after somebody had changed them, deleted, and let go of.",
		}, []string{"what"}),
		fights: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_rootsync_fights_total",
			Help: "Objects that were put back and changed again so often that Holdfast slows down.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rootsync_source_requests_total",
			Help: "Looks at repositories and registries, and what was fetched from them, by whether that succeeded.",
		}, []string{"what", "result"}),
	}
	for _, what := range []apply.Deed{apply.Applied, apply.Corrected, apply.Pruned, apply.Released} {
		m.objects.WithLabelValues(string(what))
	}
	for _, what := range []string{"poll", "fetch"} {
		m.requests.WithLabelValues(what, success)
		m.requests.WithLabelValues(what, failure)
	}
	return m
}

// did counts what was done to an object.
func (m *meters) did(what apply.Deed) {
	if what == apply.Fought {
		m.fights.Inc()
		return
	}
	m.objects.WithLabelValues(string(what)).Inc()
}

// asked counts a request to a source.
func (m *meters) asked(what string, succeeded bool) {
	result := failure
	if succeeded {
		result = success
	}
	m.requests.WithLabelValues(what, result).Inc()
}

// RegisterMetrics registers what there is to count.
func (s *Syncer) RegisterMetrics(r prometheus.Registerer) error {
	return errors.Join(r.Register(s.meters.objects), r.Register(s.meters.fights), r.Register(s.meters.requests), r.Register(s))
}

// Describe implements prometheus.Collector.
func (s *Syncer) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{syncsDesc, errorsDesc, lagDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Who does not lead knows nothing, and says so
// by saying nothing: that nobody leads can be seen then.
func (s *Syncer) Collect(out chan<- prometheus.Metric) {
	select {
	case <-s.started:
	default:
		return
	}
	now, count := s.o.Clock.Now(), map[standing]int{}
	for _, r := range s.all() {
		m := r.measured()
		count[m.standing]++
		lag := 0.0
		if !m.since.IsZero() {
			lag = now.Sub(m.since).Seconds()
		}
		out <- prometheus.MustNewConstMetric(errorsDesc, prometheus.GaugeValue, float64(m.errors), string(r.sync))
		out <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, lag, string(r.sync))
	}
	for _, is := range standings {
		out <- prometheus.MustNewConstMetric(syncsDesc, prometheus.GaugeValue, float64(count[is]), string(is))
	}
}
