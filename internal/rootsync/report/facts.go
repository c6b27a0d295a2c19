// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Facts are what is known of a RootSync.
type Facts struct {
	Sync object.Sync
	// Generation is that of the spec that the rest is about.
	Generation int64
	// Setup says what is made before anything can be synced; empty once that is done.
	Setup string
	// Stalled is nil unless nothing goes on until somebody mends something.
	Stalled   *Stalled
	Suspended bool
	// Progress is nil while nothing new is known about the source, after a restart or
	// where the spec is wrong. What stands in the status about it stays then.
	Progress *Progress
	// Teardown is nil unless the RootSync is deleted.
	Teardown *Teardown
	// Contested are the namespaces that the RootSync declares and has, and others declare
	// as well, with those. Where nil, it is not known, and what the status says of it stays.
	Contested map[string][]object.Sync
	// Share bounds the status: of each list of errors it has one in so many. 0 and 1
	// stand for all.
	Share int
}

// Stalled says why nothing goes on.
type Stalled struct {
	// Reason is one of the API's, or the kind of an object that cannot be made.
	Reason string
	Err    *knv.Error
}

// Teardown is how far the end of a RootSync has come.
type Teardown struct {
	// Errors are about the objects that cannot go.
	Errors []*knv.Error
}

// Stage is a part of a sync.
type Stage int

// The stages of a sync, in order.
const (
	AtSource Stage = iota
	AtRendering
	AtSync
)

// Progress is how far the newest commit has come.
type Progress struct {
	// At is the stage that it is in, or has ended in.
	At Stage
	// Fetched, Rendered and Synced are what the stages last gave, which need not be of
	// the same commit. What is wrong with the manifests belongs to Fetched. One that is
	// empty is not known, and what stands in the status stays.
	Fetched, Rendered, Synced Result
	// Plain says that there was nothing to render.
	Plain bool
	// Missing are namespaces that are used and do not exist.
	Missing []string
}

// Result is what a stage gave.
type Result struct {
	Source spec.Source
	// Commit is empty if it is not known which one it is.
	Commit string
	// Running says that the stage goes on with this commit. To try once more what has
	// failed is not meant.
	Running bool
	Errors  []*knv.Error
}

func (r Result) empty() bool {
	return r.Source == spec.Source{} && r.Commit == "" && !r.Running && len(r.Errors) == 0
}

// Smaller are the facts for a status with half as many errors, where the API server
// finds it too large; false if it has none any more.
func (f Facts) Smaller() (Facts, bool) {
	share := max(f.Share, 1)
	most := 0
	if p := f.Progress; p != nil {
		most = max(len(p.Fetched.Errors), len(p.Rendered.Errors), len(p.Synced.Errors))
	}
	if f.Teardown != nil {
		most = max(most, len(f.Teardown.Errors))
	}
	if share > most {
		return f, false
	}
	f.Share = 2 * share
	return f, true
}
