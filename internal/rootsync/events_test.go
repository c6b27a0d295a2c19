// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func statusOf(t *testing.T, text string) (s configsyncv1beta1.RootSyncStatus) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEventsOf(t *testing.T) {
	t.Parallel()
	const (
		done    = `conditions: [{type: Syncing, status: "False"}]`
		running = `conditions: [{type: Syncing, status: "True"}]`
		synced  = `lastSyncedCommit: c1, source: {commit: c1}, `
		failing = `lastSyncedCommit: c1, source: {commit: c1}, sync: {errors: [{code: "2009", errorMessage: "no\nmore"}]}, `
	)
	is := func(condition, status, message string) string {
		return fmt.Sprintf(`conditions: [{type: %s, status: %q, message: %q}]`, condition, status, message)
	}
	stuck := func(messages ...string) string {
		return `conditions: [{type: ReconcilerFinalizerFailure, status: "True", errors: [{code: "2009", errorMessage: ` + strings.Join(messages, `}, {code: "2009", errorMessage: `) + `}]}]`
	}
	tests := []struct {
		name, former, next string
		want               []string
	}{
		{"nothing has changed", failing + done, failing + done, nil},
		{"a commit is synced", "", synced + done, []string{"Normal Synced: Commit c1 is applied and ready"}},
		{"another commit is synced", failing + done, "lastSyncedCommit: c2, source: {commit: c2}, " + done, []string{"Normal Synced: Commit c2 is applied and ready"}},
		{"it is synced, and goes over it once more", synced + done, synced + running, nil},
		{"the source has an error", synced + done, `lastSyncedCommit: c1, source: {commit: c1, errors: [{code: "2004", errorMessage: gone}]}, ` + done, []string{"Warning SourceError: gone"}},
		{"the commit cannot be rendered", synced + done, `lastSyncedCommit: c1, rendering: {errors: [{code: "1068", errorMessage: bad}]}, ` + done, []string{"Warning RenderingError: bad"}},
		{"an error comes for the commit that was synced", synced + done, failing + done, []string{"Warning SyncError: no"}},
		{"another error comes for the same commit", failing + done, strings.Replace(failing, "no", "never", 1) + done, []string{"Warning SyncError: never"}},
		{"one more error", failing + done, strings.Replace(failing, "errors: [", `errors: [{code: "2009", errorMessage: a}, `, 1) + done, []string{"Warning SyncError: a (and 1 more)"}},
		{"the errors are over", failing + done, synced + done, []string{"Normal Recovered: Commit c1 is applied and ready again"}},
		{"the errors are over for now", failing + done, synced + running, nil},
		{"the errors are over, and a new commit is on its way", failing + done, strings.Replace(synced, "commit: c1}", "commit: c2}", 1) + done, nil},
		{"it is stalled", "", is("Stalled", "True", "wrong\nvery"), []string{"Warning Stalled: wrong"}},
		{"it is stalled for another reason", is("Stalled", "True", "wrong"), is("Stalled", "True", "worse"), []string{"Warning Stalled: worse"}},
		{"it is stalled no longer", is("Stalled", "True", "wrong"), is("Stalled", "False", ""), nil},
		{"it is suspended", synced + done, synced + is("Suspended", "True", "by hand"), []string{"Normal Suspended: by hand"}},
		{"it stays suspended", is("Suspended", "True", "by hand"), is("Suspended", "True", "by hand"), nil},
		{"it is resumed", is("Suspended", "True", "by hand"), running, []string{"Normal Resumed: it is synced again, and what was changed meanwhile is put back"}},
		{"others declare what it has", synced + done, synced + is("NamespacesContested", "True", "b"), []string{"Warning NamespacesContested: b"}},
		{"still others do", is("NamespacesContested", "True", "b"), is("NamespacesContested", "True", "b, c"), []string{"Warning NamespacesContested: b, c"}},
		{"they do no longer", is("NamespacesContested", "True", "b"), "", nil},
		{"its end is stuck", "", stuck("kept"), []string{"Warning TeardownError: kept"}},
		{"its end is stuck on something else", stuck("kept"), stuck("other", "kept"), []string{"Warning TeardownError: other (and 1 more)"}},
		{"its end is not stuck any more", stuck("kept"), "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range eventsOf(statusOf(t, "{"+tt.former+"}"), statusOf(t, "{"+tt.next+"}")) {
				got = append(got, e.kind+" "+e.reason+": "+e.note)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What becomes of a RootSync, from its beginning to its end, is told in events that the API
// server takes, each with its own text.
func TestEvents_tellOfEachOutcome(t *testing.T) {
	t.Parallel()
	r := shared(t)
	all := ns("m") + ns("n") + cm("n", "one", "1")
	first := r.commit("a", "x.yaml", all)
	r.sync("a", "  override: {enableShellInRendering: true}")
	r.tells("a", "Normal Synced: Commit "+first+" is applied and ready")
	r.tells("a", "Normal FieldsIgnored: spec.override.enableShellInRendering change nothing")

	// Errors that follow on each other, with nothing but what they say.
	r.commit("a", "x.yaml", all+badService)
	r.tells("a", "Warning SyncError: KNV2009: failed to apply Service, {n}/s: ")
	r.commit("a", "x.yaml", "no object\n")
	r.tells("a", "Warning SourceError: KNV1006: ")
	r.commit("a", "x.yaml", all, "kustomization.yaml", "resources: [missing.yaml]\n")
	r.tells("a", "Warning RenderingError: KNV1068: ")
	r.patch("cm", "n/one", `{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":"Always"}}}`)
	r.commit("a", "x.yaml", ns("m")+ns("n"))
	r.tells("a", "Warning SyncError: KNV2009: failed to prune ConfigMap, {n}/one: ")
	again := r.commit("a", "x.yaml", all)
	r.tells("a", "Normal Synced: Commit "+again+" is applied and ready")

	// An error that comes with no commit, and goes with none.
	r.repo("a").Drop(t)
	r.tells("a", "Warning SourceError: KNV2004: ")
	r.repo("a").Reset(t, again)
	r.tells("a", "Normal Recovered: Commit "+again+" is applied and ready again")

	r.annotate("a", "holdfast.dev/suspend=true")
	r.tells("a", "Normal Suspended: nothing is synced or put back until")
	r.annotate("a", "holdfast.dev/suspend-")
	r.tells("a", "Normal Resumed: it is synced again")
	r.spec("a", `{"git":{"auth":"token"}}`)
	r.tells("a", "Warning Stalled: KNV1061: ")
	r.spec("a", `{"git":{"auth":"none"}}`)
	r.synced("a", again)

	r.annotate("a", foreground)
	r.Expect(r.Client.Delete(t.Context(), r.rootSync("a"))).To(gomega.Succeed())
	r.tells("a", "Warning TeardownError: KNV2009: failed to delete ConfigMap, {n}/one: ")
	r.patch("cm", "n/one", `{"metadata":{"labels":{"`+v1alpha1.DeletionProtectedLabel+`":null}}}`)
	r.gone("a")
}

// A text that is too long for an event is told in part.
func TestEvents_ofLongTexts(t *testing.T) {
	t.Parallel()
	r := shared(t)
	long := strings.Repeat("long-", 300)
	r.commit("a", "x.yaml", ns("n")+"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \""+long+"\", namespace: \"{n}\"}\n")
	r.sync("a")
	r.tells("a", "Error: KNV")
	for _, text := range r.events("a") {
		if len(text) > 1100 {
			t.Errorf("it has %d bytes: %s", len(text), text)
		}
	}
}
