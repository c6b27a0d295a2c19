// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

var (
	clock = time.Date(2026, 1, 2, 3, 4, 0, 987, time.UTC)
	git   = spec.Source{Type: "git", Address: "https://h/r", Branch: "main", Revision: "HEAD", Dir: "."}
)

// minute is the clock some minutes later, as the API has it.
func minute(n int) time.Time { return clock.Add(time.Duration(n) * time.Minute) }

func at(n int) string { return minute(n).Truncate(time.Second).Format(time.RFC3339) }

func result(commit string, errs ...*knv.Error) Result {
	return Result{Source: git, Commit: commit, Errors: errs}
}

func running(commit string, errs ...*knv.Error) Result {
	return Result{Source: git, Commit: commit, Errors: errs, Running: true}
}

func facts(p *Progress) Facts { return Facts{Sync: "a", Generation: 2, Progress: p} }

func synced(commit string, errs ...*knv.Error) Facts {
	return facts(&Progress{At: AtSync, Fetched: result(commit), Rendered: result(commit), Plain: true, Synced: result(commit, errs...)})
}

func failed(name string) *knv.Error {
	return knv.New(knv.Applier, "failed to apply %s", name).About(knv.Resource{
		Path: name + ".yaml", Name: name, Namespace: "shop", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	})
}

// after reports several facts, a minute after each other.
func after(steps ...Facts) configsyncv1beta1.RootSyncStatus {
	var s configsyncv1beta1.RootSyncStatus
	for i, f := range steps {
		s = Report(f, s, minute(i))
	}
	return s
}

// holds looks for a text in the YAML of a value that it is the whole of.
func holds(t *testing.T, want string, got any) {
	t.Helper()
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var w, g any
	if err := yaml.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func condition(s configsyncv1beta1.RootSyncStatus, t configsyncv1beta1.ConditionType) *configsyncv1beta1.Condition {
	c := conditions{list: s.Conditions}
	return c.get(t)
}

func TestReport_ofASync(t *testing.T) {
	t.Parallel()
	place := `gitStatus: {repo: https://h/r, revision: HEAD, branch: main, dir: .}, commit: c1`
	holds(t, `
observedGeneration: 2
reconciler: root-reconciler-a
source: {`+place+`, lastUpdate: "`+at(0)+`", errorSummary: {}}
rendering: {`+place+`, lastUpdate: "`+at(0)+`", errorSummary: {}, message: Rendering skipped}
sync:
  `+place[:len(place)-len(", commit: c1")]+`
  commit: c1
  lastUpdate: "`+at(0)+`"
  errorSummary: {totalCount: 1, errorCountAfterTruncation: 1}
  errors:
  - code: "2009"
    errorMessage: "KNV2009: failed to apply cm\n\nsource: cm.yaml\nnamespace: shop\nmetadata.name: cm\ngroup:\nversion: v1\nkind: ConfigMap\n\nFor more information, see https://g.co/cloud/acm-errors#knv2009"
    errorResources: [{sourcePath: cm.yaml, name: cm, namespace: shop, gvk: {group: "", version: v1, kind: ConfigMap}}]
conditions:
- {type: Reconciling, status: "False", lastUpdateTime: "`+at(0)+`", lastTransitionTime: "`+at(0)+`"}
- {type: Syncing, status: "False", reason: Sync, message: Sync Completed, commit: c1, errorSourceRefs: [status.sync.errors],
   errorSummary: {totalCount: 1, errorCountAfterTruncation: 1}, lastUpdateTime: "`+at(0)+`", lastTransitionTime: "`+at(0)+`"}
`, after(synced("c1", failed("cm"))))
}

func TestReport_ofAnImage(t *testing.T) {
	t.Parallel()
	f := synced("sha256:1")
	f.Progress.Fetched.Source = spec.Source{Type: "oci", Address: "h/i:1", Dir: "a"}
	holds(t, `{ociStatus: {image: "h/i:1", dir: a}, commit: "sha256:1", lastUpdate: "`+at(0)+`", errorSummary: {}}`, after(f).Source)
}

func TestReport_syncing(t *testing.T) {
	t.Parallel()
	broken := knv.New(knv.Source, "no answer")
	tests := []struct {
		name     string
		progress Progress
		want     string
	}{
		{"a commit is fetched", Progress{At: AtSource, Fetched: running("c1")}, `{status: "True", reason: Source, message: Source, commit: c1, errorSummary: {}}`},
		{"a commit is fetched and waits", Progress{At: AtSource, Fetched: result("c1")}, `{status: "True", reason: Source, message: Source, commit: c1, errorSummary: {}}`},
		{
			"a source that does not answer", Progress{At: AtSource, Fetched: result("", broken), Synced: result("c0", failed("a"))},
			`{status: "False", reason: Source, message: Source, errorSourceRefs: [status.source.errors], errorSummary: {totalCount: 1, errorCountAfterTruncation: 1}}`,
		},
		{
			"a commit is rendered", Progress{At: AtRendering, Fetched: result("c1"), Rendered: running("c1")},
			`{status: "True", reason: Rendering, message: Rendering is still in progress, commit: c1, errorSummary: {}}`,
		},
		{
			"a commit that cannot be rendered", Progress{At: AtRendering, Fetched: result("c1"), Rendered: result("c1", knv.New(knv.Rendering, "x"))},
			`{status: "False", reason: Rendering, message: Rendering failed, commit: c1, errorSourceRefs: [status.rendering.errors],
			 errorSummary: {totalCount: 1, errorCountAfterTruncation: 1}}`,
		},
		{
			"a rendered commit is applied", Progress{At: AtSync, Fetched: result("c1"), Rendered: result("c1"), Synced: running("c1")},
			`{status: "True", reason: Sync, message: Syncing, commit: c1, errorSummary: {}}`,
		},
		{
			"a commit with an unknown kind and an object that cannot be applied",
			Progress{At: AtSync, Fetched: result("c1", knv.New(knv.UnknownKind, "x")), Rendered: result("c1"), Synced: running("c1", failed("a"), failed("b"))},
			`{status: "True", reason: Sync, message: Syncing, commit: c1, errorSourceRefs: [status.source.errors, status.sync.errors],
			 errorSummary: {totalCount: 3, errorCountAfterTruncation: 3}}`,
		},
		{
			"a commit is applied", Progress{At: AtSync, Fetched: result("c1"), Rendered: result("c1"), Synced: result("c1")},
			`{status: "False", reason: Sync, message: Sync Completed, commit: c1, errorSummary: {}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := after(facts(&tt.progress))
			c := condition(s, configsyncv1beta1.ConditionSyncing)
			stage := [3]configsyncv1beta1.StageStatus{s.Source.StageStatus, s.Rendering.StageStatus, s.Sync.StageStatus}[tt.progress.At]
			if !c.LastUpdateTime.Equal(&stage.LastUpdate) {
				t.Errorf("the condition is of %v, and the part that it is about of %v", c.LastUpdateTime, stage.LastUpdate)
			}
			c.Type, c.LastUpdateTime, c.LastTransitionTime = "", metav1.Time{}, metav1.Time{}
			holds(t, tt.want[:len(tt.want)-1]+`, type: ""}`, c)
		})
	}
}

func TestReport_timesChangeWithWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	s := after(
		facts(&Progress{At: AtSync, Fetched: result("c1"), Rendered: result("c1"), Synced: running("c1")}),
		synced("c1", failed("a")), // the status of the condition changes
		synced("c1", failed("b")), // only which error there is
		synced("c1", failed("b")), // nothing
	)
	c := condition(s, configsyncv1beta1.ConditionSyncing)
	for what, got := range map[string]struct {
		have metav1.Time
		want int
	}{
		"source":     {s.Source.LastUpdate, 0},
		"rendering":  {s.Rendering.LastUpdate, 1}, // it was said to be rendered, and then not to be
		"sync":       {s.Sync.LastUpdate, 2},
		"update":     {c.LastUpdateTime, 2},
		"transition": {c.LastTransitionTime, 1},
	} {
		if have := got.have.UTC().Format(time.RFC3339); have != at(got.want) {
			t.Errorf("%s: got %s, want %s", what, have, at(got.want))
		}
	}
}

func TestReport_aCommitIsSyncedWhenItIsApplied(t *testing.T) {
	t.Parallel()
	next := func(r Result) Facts {
		return facts(&Progress{At: AtSync, Fetched: result("c2"), Rendered: result("c2"), Synced: r})
	}
	moved := running("c2")
	moved.Source.Dir = "other"
	tests := []struct {
		name       string
		last       Facts
		want, good string
	}{
		{"it is fetched", facts(&Progress{At: AtSource, Fetched: running("c2")}), "c1", "c1"},
		{"it is being applied", next(running("c2")), "c1", "c1"},
		{"it is being applied, and something is wrong", next(running("c2", failed("a"))), "c1", "c1"},
		{"it is being applied, from another folder", next(moved), "c1", "c1"},
		{"it is applied", next(result("c2")), "c2", "c2"},
		{"it is applied, but for an object", next(result("c2", failed("a"))), "c2", "c1"},
		{"it is applied, but for an object of a kind that nobody serves", facts(&Progress{At: AtSync, Fetched: result("c2", failed("a")), Rendered: result("c2"), Synced: result("c2")}), "c2", "c1"},
		{"it is applied, and something is wrong in the next", facts(&Progress{At: AtSource, Fetched: result("c3", failed("a")), Rendered: result("c3"), Synced: result("c2")}), "c2", "c2"},
		{"it is applied, and the source has gone since", facts(&Progress{At: AtSource, Fetched: result("", knv.New(knv.Source, "x")), Synced: result("c2")}), "c2", "c2"},
		{"nothing is known after a restart", facts(nil), "c1", "c1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := after(synced("c1"), tt.last)
			if s.Sync.Commit != tt.want || s.LastSyncedCommit != tt.good || s.Sync.Git.Dir != "." {
				t.Errorf("got %s of %s, and %s without errors; want %s and %s", s.Sync.Commit, s.Sync.Git.Dir, s.LastSyncedCommit, tt.want, tt.good)
			}
		})
	}
}

func TestReport_work(t *testing.T) {
	t.Parallel()
	setup := Facts{Sync: "a", Generation: 1, Setup: "the service account is made"}
	invalid := &Stalled{Reason: configsyncv1beta1.ReasonValidation, Err: knv.New(knv.InvalidSync, "wrong")}
	stalled := Facts{Sync: "a", Generation: 2, Stalled: invalid}
	stalledSetup := setup
	stalledSetup.Stalled = &Stalled{Reason: "ServiceAccount", Err: knv.New(knv.APIServer, "refused")}
	tests := []struct {
		name  string
		steps []Facts
		want  string
	}{
		{"set up", []Facts{setup}, "Reconciling=True/Setup/the service account is made"},
		{"set up, and synced", []Facts{setup, synced("c1")}, "Reconciling=False// Syncing=False/Sync/Sync Completed"},
		{
			"a set-up that fails", []Facts{stalledSetup},
			"Reconciling=True/Setup/Setup stalled Stalled=True/ServiceAccount/KNV2002: refused\n\nFor more information, see https://g.co/cloud/acm-errors#knv2002",
		},
		{
			"a spec that becomes wrong", []Facts{synced("c1"), stalled},
			"Reconciling=False// Stalled=True/Validation/KNV1061: wrong\n\nFor more information, see https://g.co/cloud/acm-errors#knv1061",
		},
		{"one that is right again, before anything is known of it", []Facts{synced("c1"), stalled, facts(nil)}, "Reconciling=False// Stalled=False//"},
		{
			"one that is right again", []Facts{synced("c1"), stalled, synced("c2")},
			"Reconciling=False// Stalled=False// Syncing=False/Sync/Sync Completed",
		},
		{"a restart", []Facts{synced("c1"), facts(nil)}, "Reconciling=False// Syncing=False/Sync/Sync Completed"},
		{
			"a suspended one", []Facts{synced("c1"), {Sync: "a", Suspended: true}},
			`Reconciling=False// Syncing=False/Sync/Sync Completed ` +
				`Suspended=True/SuspendedByAnnotation/nothing is synced or put back until the annotation "holdfast.dev/suspend" is removed`,
		},
		{"one that is resumed", []Facts{{Sync: "a", Suspended: true}, facts(nil)}, "Reconciling=False//"},
		{
			"one that is deleted", []Facts{synced("c1"), {Sync: "a", Teardown: &Teardown{}}},
			"Reconciling=True/Teardown/Deleting managed resource objects ReconcilerFinalizing=True/ResourcesDeleting/Deleting managed resource objects",
		},
		{
			"one whose objects do not go", []Facts{{Sync: "a", Teardown: &Teardown{Errors: []*knv.Error{failed("x")}}}},
			"Reconciling=True/Teardown/Deleting managed resource objects ReconcilerFinalizing=True/ResourcesDeleting/Deleting managed resource objects " +
				"ReconcilerFinalizerFailure=True/DestroyFailure/Failed to delete managed resource objects",
		},
		{
			"one whose objects go in the end", []Facts{{Sync: "a", Teardown: &Teardown{Errors: []*knv.Error{failed("x")}}}, {Sync: "a", Teardown: &Teardown{}}},
			"Reconciling=True/Teardown/Deleting managed resource objects ReconcilerFinalizing=True/ResourcesDeleting/Deleting managed resource objects",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for i, c := range after(tt.steps...).Conditions {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("%s=%s/%s/%s", c.Type, c.Status, c.Reason, c.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReport_namespaces(t *testing.T) {
	t.Parallel()
	missing := func(names ...string) Facts {
		f := synced("c1")
		f.Progress.Missing = names
		return f
	}
	const ok = "True/NamespacesExist/all namespaces that are used exist"
	tests := []struct {
		name  string
		steps []Facts
		want  string
	}{
		{"none was ever missing", []Facts{missing()}, ""},
		{"some are missing", []Facts{missing("b", "a", "b")}, "False/NamespaceMissing/these namespaces are used and do not exist: a, b; declare them in a source, or create them"},
		{"they were", []Facts{missing("a"), missing()}, ok},
		{"they were, and nothing is known since", []Facts{missing("a"), missing(), facts(nil)}, ok},
		{
			"many are missing", []Facts{missing("l", "k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a")},
			"False/NamespaceMissing/these namespaces are used and do not exist: a, b, c, d, e, f, g, h, i, j and 2 more; declare them in a source, or create them",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if c := condition(after(tt.steps...), configsyncv1beta1.ConditionNamespacesReady); c != nil {
				got = fmt.Sprintf("%s/%s/%s", c.Status, c.Reason, c.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSmaller_halvesTheErrorsUntilThereAreNone(t *testing.T) {
	t.Parallel()
	f := synced("c1", failed("a"), failed("b"), failed("c"), failed("d"), failed("e"))
	for _, want := range []configsyncv1beta1.ErrorSummary{
		{TotalCount: 5, ErrorCountAfterTruncation: 5},
		{TotalCount: 5, ErrorCountAfterTruncation: 2, Truncated: true},
		{TotalCount: 5, ErrorCountAfterTruncation: 1, Truncated: true},
		{TotalCount: 5, Truncated: true},
	} {
		s := after(f)
		if diff := cmp.Diff(want, *s.Sync.ErrorSummary); diff != "" || len(s.Sync.Errors) != want.ErrorCountAfterTruncation {
			t.Errorf("%d errors (-want +got):\n%s", len(s.Sync.Errors), diff)
		}
		if diff := cmp.Diff(want, *condition(s, configsyncv1beta1.ConditionSyncing).ErrorSummary); diff != "" {
			t.Errorf("the condition (-want +got):\n%s", diff)
		}
		var more bool
		if f, more = f.Smaller(); more != (want.ErrorCountAfterTruncation > 0) {
			t.Errorf("after %+v there is less to be had: %t", want, more)
		}
	}
}

// TestReport_ofATakeOver has nothing to write where Config Sync has synced what is there.
func TestReport_ofATakeOver(t *testing.T) {
	t.Parallel()
	var former configsyncv1beta1.RootSyncStatus
	stage := `gitStatus: {repo: https://h/r, revision: HEAD, branch: main, dir: .}, commit: c1, errorSummary: {}`
	if err := yaml.Unmarshal([]byte(`
observedGeneration: 2
reconciler: root-reconciler-a
lastSyncedCommit: c1
source: {`+stage+`, lastUpdate: "2025-01-01T00:00:01Z"}
rendering: {`+stage+`, lastUpdate: "2025-01-01T00:00:02Z", message: Rendering skipped}
sync: {`+stage+`, lastUpdate: "2025-01-01T00:00:03Z"}
conditions:
- {type: Reconciling, status: "False", lastUpdateTime: "2025-01-01T00:00:00Z", lastTransitionTime: "2025-01-01T00:00:00Z"}
- {type: Stalled, status: "False", lastUpdateTime: "2025-01-01T00:00:00Z", lastTransitionTime: "2025-01-01T00:00:00Z"}
- {type: Syncing, status: "False", reason: Sync, message: Sync Completed, commit: c1, errorSummary: {},
   lastUpdateTime: "2025-01-01T00:00:03Z", lastTransitionTime: "2025-01-01T00:00:03Z"}
`), &former); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(former, Report(synced("c1"), former, clock)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
