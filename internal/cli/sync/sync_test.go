// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
)

const (
	c1 = "1111111aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	c2 = "2222222bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// read makes an object of YAML, in which C1 and C2 are commits.
func read[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(strings.NewReplacer("C1", c1, "C2", c2).Replace(text)), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// shop is a RootSync with a status, and more of its metadata.
func shop(t *testing.T, metadata, status string) *configsyncv1beta1.RootSync {
	t.Helper()
	return read[configsyncv1beta1.RootSync](t, `
metadata: {name: shop, namespace: config-management-system, generation: 3, `+metadata+`}
spec: {sourceFormat: unstructured, git: {repo: "https://h/r.git", branch: main, dir: prod, auth: none}}
status: {`+status+`}`)
}

const inventory = `
spec: {resources: [{group: "", kind: Namespace, namespace: "", name: a}, {group: "", kind: Namespace, namespace: "", name: b}]}
status:
  observedGeneration: 1
  resourceStatuses:
  - {group: "", kind: Namespace, namespace: "", name: a, status: Current, actuation: Succeeded, reconcile: Succeeded}
  - {group: "", kind: Namespace, namespace: "", name: b, status: InProgress, actuation: Succeeded, reconcile: Pending}
  - {group: "", kind: Namespace, namespace: "", name: c, status: Unknown, actuation: Pending, reconcile: Pending}`

func TestItemOf(t *testing.T) {
	t.Parallel()
	const (
		good    = `observedGeneration: 3, lastSyncedCommit: C1, source: {commit: C1}, rendering: {commit: C1}, sync: {commit: C1, lastUpdate: "2026-11-21T11:58:00Z"}, `
		newer   = `observedGeneration: 3, lastSyncedCommit: C1, source: {commit: C2}, rendering: {commit: C2}, sync: {commit: C1, lastUpdate: "2026-11-21T11:58:00Z"}, `
		ended   = `{type: Reconciling, status: "False"}, {type: Syncing, status: "False", reason: Sync, message: Sync Completed}`
		working = `{type: Reconciling, status: "False"}, {type: Syncing, status: "True", reason: Sync, message: Syncing}`
		tail    = "\n\nsource: a.yaml\n\nFor more information, see https://g.co/cloud/acm-errors#knv2009"
	)
	bad := func(stage, refs, errs string) string {
		return `observedGeneration: 3, lastSyncedCommit: C1, source: {commit: C2}, ` + stage + `: {commit: C2, ` + errs + `}, conditions: [
			{type: Syncing, status: "False", reason: Sync, errorSourceRefs: [` + refs + `]}]`
	}
	quoted := func(message string) string { return `"` + strings.ReplaceAll(message, "\n", `\n`) + `"` }
	tests := []struct {
		name, metadata, status string
		word, commits, problem string
	}{
		{name: "all is well", status: good + `conditions: [` + ended + `]`, word: "Synced", commits: "1111111"},
		{
			name: "all is well, and others declare what it has", status: good + `conditions: [` + ended + `, {type: NamespacesContested, status: "True", message: others declare b too}]`,
			word: "Synced", commits: "1111111", problem: "others declare b too",
		},
		{name: "nobody has looked at it", word: "Pending", commits: "<none>", problem: "nobody has looked at it yet: " + unanswered},
		{
			name: "its spec has changed", status: `observedGeneration: 2, lastSyncedCommit: C1, source: {commit: C1}, conditions: [` + ended + `]`,
			word: "Pending", commits: "1111111", problem: "its spec has changed, and nobody has looked at it since: " + unanswered,
		},
		{
			name: "it is set up", status: `observedGeneration: 3, conditions: [{type: Reconciling, status: "True", reason: Setup, message: the service account is made}]`,
			word: "Pending", commits: "<none>", problem: "the service account is made",
		},
		{name: "a commit is applied", status: newer + `conditions: [` + working + `]`, word: "Syncing 1/3", commits: "1111111 → 2222222"},
		{name: "a commit is about to be applied", status: newer + `conditions: [` + ended + `]`, word: "Syncing 1/3", commits: "1111111 → 2222222"},
		{
			name: "a commit is applied, and an object has failed already",
			status: `observedGeneration: 3, source: {commit: C2}, sync: {errors: [{code: "2009", errorMessage: ` + quoted("KNV2009: failed to apply ConfigMap, a/b: no"+tail) + `}], errorSummary: {totalCount: 1}},
				conditions: [{type: Syncing, status: "True", reason: Sync, errorSourceRefs: [status.sync.errors]}]`,
			word: "Syncing 1/3, 1 error", commits: "→ 2222222", problem: "KNV2009: failed to apply ConfigMap, a/b: no",
		},
		{
			name: "an object cannot be applied, which its message names",
			status: bad("sync", "status.sync.errors", `errors: [{code: "2009", errorMessage: `+quoted("KNV2009: failed to apply ConfigMap, a/b: no"+tail)+`,
				errorResources: [{sourcePath: x/a.yaml, name: b, namespace: a, gvk: {group: "", version: v1, kind: ConfigMap}}]}], errorSummary: {totalCount: 1}`),
			word: "Failed, 1 error", commits: "1111111 → 2222222", problem: "KNV2009: failed to apply ConfigMap, a/b: no [x/a.yaml]",
		},
		{
			name: "an object is wrong, which its message does not name, and there are more than the status has",
			status: bad("rendering", "status.rendering.errors", `errors: [{code: "1045", errorMessage: `+quoted("KNV1045: remove the field status"+tail)+`,
				errorResources: [{sourcePath: a.yaml, name: e, namespace: a, gvk: {group: apps, version: v1, kind: Deployment}}]}], errorSummary: {totalCount: 12, truncated: true}`),
			word: "Failed, 12 errors", commits: "1111111 → 2222222",
			problem: "KNV1045: remove the field status [Deployment.apps a/e in a.yaml] (and 11 errors more: -o yaml)",
		},
		{
			name:   "the status has room for no error",
			status: bad("sync", "status.sync.errors", `errorSummary: {totalCount: 4000, truncated: true}`),
			word:   "Failed, 4000 errors", commits: "1111111 → 2222222", problem: "4000 errors, for which the status has no room",
		},
		{
			name: "errors of the commit before do not count",
			status: `observedGeneration: 3, source: {commit: C1}, sync: {commit: C1, errors: [{code: "2009", errorMessage: old}], errorSummary: {totalCount: 1}},
				conditions: [{type: Syncing, status: "True", reason: Source}]`,
			word: "Syncing 1/3", commits: "→ 1111111",
		},
		{
			name:   "namespaces are missing",
			status: bad("sync", "status.sync.errors", `errors: [{code: "2009", errorMessage: "KNV2009: failed to apply: namespaces \"b\" not found"}], errorSummary: {totalCount: 2}`),
			word:   "Failed, 2 errors", commits: "1111111 → 2222222", problem: `KNV2009: failed to apply: namespaces "b" not found (and 1 error more: -o yaml)`,
		},
		{
			name: "namespaces are missing, and the condition says what to do",
			status: `observedGeneration: 3, source: {commit: C2}, sync: {commit: C2, errors: [{code: "2009", errorMessage: "KNV2009: failed to apply"}], errorSummary: {totalCount: 1}}, conditions: [
				{type: Syncing, status: "False", errorSourceRefs: [status.sync.errors]}, {type: NamespacesReady, status: "False", message: "these do not exist: b; create them"}]`,
			word: "Failed, 1 error", commits: "→ 2222222", problem: "KNV2009: these do not exist: b; create them",
		},
		{
			name:   "the RootSync is wrong",
			status: `observedGeneration: 3, conditions: [{type: Stalled, status: "True", reason: Validation, message: ` + quoted("KNV1061: RootSyncs must specify spec.git"+tail) + `}]`,
			word:   "Stalled", commits: "<none>", problem: "KNV1061: RootSyncs must specify spec.git",
		},
		{
			name: "it is suspended", metadata: `annotations: {holdfast.dev/suspend: "true"}`, status: good + `conditions: [` + ended + `, {type: Suspended, status: "True"}]`,
			word: "Suspended", commits: "1111111", problem: "nothing is synced or put back until 'kubectl holdfast sync resume shop'",
		},
		{
			name: "it is to be suspended", metadata: `annotations: {holdfast.dev/suspend: "true"}`, status: good + `conditions: [` + ended + `]`,
			word: "Suspended", commits: "1111111", problem: "it is to be suspended, and nobody has done it yet: " + unanswered,
		},
		{
			name: "it is to be resumed", status: good + `conditions: [` + ended + `, {type: Suspended, status: "True"}]`,
			word: "Suspended", commits: "1111111", problem: "it is to be resumed, and nobody has done it yet: " + unanswered,
		},
		{
			name: "it goes, and its objects stay", metadata: `deletionTimestamp: "2026-11-21T11:00:00Z"`, status: good + `conditions: [` + ended + `]`,
			word: "Deleting", commits: "1111111", problem: "its objects are let go of before it is deleted",
		},
		{
			name: "it goes with its objects", metadata: `deletionTimestamp: "2026-11-21T11:00:00Z", annotations: {configsync.gke.io/deletion-propagation-policy: Foreground}`,
			status: good + `conditions: [` + ended + `]`,
			word:   "Deleting", commits: "1111111", problem: "its objects are deleted before it is: 2 are left",
		},
		{
			name: "its objects cannot go", metadata: `deletionTimestamp: "2026-11-21T11:00:00Z"`,
			status: good + `conditions: [{type: ReconcilerFinalizerFailure, status: "True", errors: [{code: "2009", errorMessage: "KNV2009: failed to delete Namespace, /a: refused"}], errorSummary: {totalCount: 1}}]`,
			word:   "Deleting, 1 error", commits: "1111111", problem: "KNV2009: failed to delete Namespace, /a: refused",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := itemOf(shop(t, tt.metadata, tt.status), read[kptv1alpha1.ResourceGroup](t, inventory))
			got := []string{i.word(), i.commits(ShortCommit), i.Problem}
			if diff := cmp.Diff([]string{tt.word, tt.commits, tt.problem}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestItemOf_withoutAnInventory(t *testing.T) {
	t.Parallel()
	const status = `observedGeneration: 3, conditions: [{type: Syncing, status: "True"}]`
	i := itemOf(shop(t, "", status), nil)
	if got := i.word(); got != "Syncing" {
		t.Errorf("got %q", got)
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	shown := map[string]string{}
	items := func(states ...state) []item {
		var out []item
		for i, s := range states {
			if s != "" {
				out = append(out, item{Name: string(rune('a' + i)), State: s})
			}
		}
		return out
	}
	for _, step := range []struct {
		name  string
		items []item
		want  []string
	}{
		{"at first all of them", items(synced, syncing), []string{"a Synced", "b Syncing"}},
		{"nothing new", items(synced, syncing), nil},
		{"what has changed", items(synced, failed), []string{"b Failed, 0 errors"}},
		{"what is gone and what is new", items("", failed, pending), []string{"c Pending", "a Deleted"}},
		{"what is gone is told once", items("", failed, pending), nil},
	} {
		var got []string
		for _, row := range news(step.items, shown, false, noon) {
			got = append(got, row[0].Text+" "+row[3].Text)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step.name, diff)
		}
	}
}

func TestAskable(t *testing.T) {
	t.Parallel()
	a, b, c := *shop(t, "", ""), *shop(t, `annotations: {holdfast.dev/suspend: "true"}`, ""), *shop(t, `deletionTimestamp: "2026-11-21T11:00:00Z"`, "")
	a.Name, b.Name, c.Name = "a", "b", "c"
	all := []configsyncv1beta1.RootSync{a, b, c}
	const whyB, whyC = "b is suspended: resume it with 'kubectl holdfast sync resume b'", "c is being deleted"
	tests := []struct {
		name, names    string
		asked, skipped []string
		wrong          string
	}{
		{name: "all that can", asked: []string{"a"}, skipped: []string{whyB, whyC}},
		{name: "one that can, named twice", names: "a a", asked: []string{"a"}},
		{name: "one that is suspended", names: "a b", wrong: whyB},
		{name: "one that goes", names: "c", wrong: whyC},
		{name: "one that is not there", names: "d", wrong: `there is no RootSync "d": there is a, b, c`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked, skipped, err := askable(all, strings.Fields(tt.names))
			wrong := ""
			if err != nil {
				wrong = err.Error()
			}
			if diff := cmp.Diff([]any{tt.asked, tt.skipped, tt.wrong}, []any{asked, skipped, wrong}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestGoingOn(t *testing.T) {
	t.Parallel()
	const ok = `observedGeneration: 3, conditions: [{type: Syncing, status: "True"}]`
	tests := []struct {
		name, metadata, status string
		want                   bool
	}{
		{"nobody has answered", "", ok, true},
		{"the answer is to another call", `annotations: {holdfast.dev/sync-now-done: "1"}`, ok, true},
		{"it is done", `annotations: {holdfast.dev/sync-now-done: "2"}`, ok, false},
		{"it cannot be done, as the RootSync is wrong", "", `observedGeneration: 3, conditions: [{type: Stalled, status: "True"}]`, false},
		{"it will not be done, as it was suspended meanwhile", `annotations: {holdfast.dev/suspend: "true"}`, ok, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := len(goingOn([]configsyncv1beta1.RootSync{*shop(t, tt.metadata, tt.status)}, "2")) == 1; got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	many := make([]configsyncv1beta1.RootSync, maxNamed+2)
	for i := range many {
		many[i].Name = "n"
	}
	for _, tt := range []struct {
		name string
		all  []configsyncv1beta1.RootSync
		want string
	}{
		{"there is none at all", nil, `there is no RootSync "x", and no other in namespace config-management-system`},
		{"there are many", many, `there is no RootSync "x": there is n` + strings.Repeat(", n", maxNamed-1) + " and 2 more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, missing("x", tt.all).Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
