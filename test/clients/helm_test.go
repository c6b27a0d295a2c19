// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What the charts are made of: each has a database, which is protected, and
// settings, which are not.
const (
	database    = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, labels: {holdfast.dev/deletion-protected: Always}}, ` + databaseSpec
	unprotected = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, ` + databaseSpec
	settings    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {v: "1"}}`
	changed     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {v: "2"}}`

	databaseSpec = `spec: {replicas: 0, serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}}}`
	databaseName = "statefulsets.apps/db"
)

// left is what is in the cluster of a release.
type left struct {
	Database, Settings string
	History            []string
}

func (h *helm) left(e *testkit.Env) left {
	h.t.Helper()
	in := func(manifest string) string {
		return stored(h.t, e, strings.Replace(manifest, "metadata: {", "metadata: {namespace: "+h.ns+", ", 1))
	}
	return left{Database: in(database), Settings: in(settings), History: h.history()}
}

func (h *helm) mustLeave(e *testkit.Env, want left) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.left(e)); diff != "" {
		h.t.Errorf("what is left of the release (-want +got):\n%s", diff)
	}
}

// mustSay compares an error of Helm, whose command line writes it after "Error: ".
func mustSay(t testing.TB, err error, want string) {
	t.Helper()
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("what the user reads (-want +got):\n%s", diff)
	}
}

// Helm does not hand on why an object could not be deleted: of errors it shows
// that in the log of --debug alone. So the refusal comes as a warning as well.
func TestHelm_uninstallKeepsTheProtectedObjectAndWarnsWhatToDo(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	h := newHelm(t, e, ns, editor)
	h.mustInstall(database, settings)

	stopped := left{Database: "protected", Settings: "gone", History: []string{"1 uninstalling: Deletion in progress (or silently failed)"}}
	for range attempts {
		mustSay(t, h.uninstall(), "failed to delete release: web")
		h.mustLeave(e, stopped)
	}
	if shown := h.shown.String(); shown != "" {
		t.Errorf("Helm shows more than it did:\n%s", shown)
	}
	refusal := fmt.Sprintf(toDelete, databaseName, ns)
	if got := strings.Count(h.debug.String(), refusal); got != attempts {
		t.Errorf("--debug shows the refusal %d times, want %d; it shows\n%s", got, attempts, h.debug.String())
	}
	if got := strings.Count(h.warned.String(), refusal); got != attempts {
		t.Errorf("the user is warned %d times, want %d, of:\n%s\nbut reads\n%s", got, attempts, refusal, h.warned.String())
	}

	if out := followAdvice(t, e, editor, refusal); !strings.Contains(out.Stderr, fmt.Sprintf(toUnprotect, databaseName, ns)) {
		t.Errorf("who may not unprotect reads, from the command in the refusal: %s%s", out.Stdout, out.Stderr)
	}
	if out := followAdvice(t, e, owner, refusal); out.Code != 0 {
		t.Fatalf("who may unprotect reads, from the command in the refusal: %s", out.Stderr)
	}
	if err := h.uninstall(); err != nil {
		t.Errorf("the next uninstall: %v", err)
	}
	h.mustLeave(e, left{Database: "gone", Settings: "gone"})
}

// The way back for who did not mean it: an upgrade is none.
func TestHelm_rollbackMendsAReleaseWhoseUninstallWasRefused(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, _ := users(t, e, ns)
	h := newHelm(t, e, ns, editor)
	h.mustInstall(database, settings)
	mustSay(t, h.uninstall(), "failed to delete release: web")

	mustSay(t, h.upgrade(database, settings), `"web" has no deployed releases`)
	if err := h.rollback(1); err != nil {
		t.Errorf("rollback: %v", err)
	}
	h.mustLeave(e, left{Database: "protected", Settings: "1", History: []string{
		"1 uninstalling: Deletion in progress (or silently failed)",
		"2 deployed: Rollback to 1",
	}})
	if err := h.upgrade(database, changed); err != nil {
		t.Errorf("an upgrade after that: %v", err)
	}
}

func TestHelm_upgradeWithoutTheProtectedObjectSaysWhatToDo(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	h := newHelm(t, e, ns, editor)
	h.mustInstall(database, settings)

	refusal := fmt.Sprintf("failed to delete resource namespace=%s, name=db, kind=StatefulSet: %s", ns, deleteRefused(ns, databaseName))
	history := []string{"1 deployed: Install complete"}
	for revision := 2; revision < 2+attempts; revision++ {
		mustSay(t, h.upgrade(changed), refusal)
		// What the upgrade changes is changed by then, for Helm prunes last.
		history = append(history, fmt.Sprintf(`%d failed: Upgrade "web" failed: %s`, revision, refusal))
		h.mustLeave(e, left{Database: "protected", Settings: "2", History: history})
	}
	if !strings.Contains(h.shown.String(), fmt.Sprintf(toDelete, databaseName, ns)) {
		t.Errorf("the log does not have the refusal:\n%s", h.shown.String())
	}

	if out := followAdvice(t, e, owner, refusal); out.Code != 0 {
		t.Fatalf("who may unprotect reads, from the command in the refusal: %s", out.Stderr)
	}
	if err := h.upgrade(changed); err != nil {
		t.Errorf("the next upgrade: %v", err)
	}
	history[0] = "1 superseded: Install complete"
	h.mustLeave(e, left{Database: "gone", Settings: "2", History: append(history, "5 deployed: Upgrade complete")})
}

func TestHelm_upgradeThatTakesTheLabelAwayNeedsTheRight(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	h := newHelm(t, e, ns, editor)
	h.mustInstall(database, settings)

	mustSay(t, h.upgrade(unprotected, settings),
		fmt.Sprintf("server-side apply failed for object %s/db apps/v1, Kind=StatefulSet: %s", ns, unprotectRefused(ns, databaseName)))
	if got := h.left(e).Database; got != "protected" {
		t.Errorf("the database is %q", got)
	}
	if err := newHelm(t, e, ns, owner).upgrade(unprotected, settings); err != nil {
		t.Errorf("by who may unprotect: %v", err)
	}
	if err := h.uninstall(); err != nil {
		t.Errorf("and then everybody may uninstall it: %v", err)
	}
}

// People protect what others install: the label is in no chart.
func TestHelm_aLabelSetByHandSurvivesUpgrades(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, _ := users(t, e, ns)
	h := newHelm(t, e, ns, editor)
	h.mustInstall(unprotected, settings)
	if out := e.Kubectl(t, "--as", editor, "label", "-n", ns, databaseName, label+"=Always"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}

	if err := h.upgrade(unprotected, changed); err != nil {
		t.Errorf("upgrade: %v", err)
	}
	if err := h.rollback(1); err != nil {
		t.Errorf("rollback: %v", err)
	}
	mustSay(t, h.uninstall(), "failed to delete release: web")
	if got := h.left(e).Database; got != "protected" {
		t.Errorf("the database is %q", got)
	}
}
