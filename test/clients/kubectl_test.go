// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// forbidden is how kubectl begins what it says about a 403.
const forbidden = "Error from server (Forbidden): "

// kubectl runs kubectl in a namespace as a user, with a manifest.
func kubectl(t testing.TB, e *testkit.Env, ns, user, manifest string, args ...string) testkit.Output {
	t.Helper()
	return e.KubectlInput(t, manifest, slices.Concat([]string{"--as", user, "-n", ns}, args, []string{"-f", "-"})...)
}

func TestKubectl_whatItsUsersRead(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	clientSide, serverSide := []string{"apply"}, []string{"apply", "--server-side"}
	tests := []struct {
		name string
		made []string // how the object was made, with the label
		args []string // and what comes then, with a manifest that does not have it
		// deletes says that the command deletes; the others take the label away.
		deletes bool
		// before is what kubectl writes before the refusal.
		before string
	}{
		{name: "applying on the client's side", made: clientSide, args: clientSide, before: `error when patching "STDIN": `},
		{name: "applying on the server's side", made: serverSide, args: serverSide, before: forbidden},
		{name: "replacing", made: clientSide, args: []string{"replace"}, before: forbidden + `error when replacing "STDIN": `},
		{name: "replacing by force", made: clientSide, args: []string{"replace", "--force"}, deletes: true},
		{name: "deleting by file", made: clientSide, args: []string{"delete"}, deletes: true, before: forbidden + `error when deleting "STDIN": `},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("case-%d", i)
			with, without := configMap(ns, name, "1", always), configMap(ns, name, "2")
			if out := kubectl(t, e, ns, editor, with, tt.made...); out.Code != 0 {
				t.Fatal(out.Stderr)
			}

			refusal := unprotectRefused(ns, "configmaps/"+name)
			if tt.deletes {
				refusal = deleteRefused(ns, "configmaps/"+name)
			}
			out := kubectl(t, e, ns, editor, without, tt.args...)
			if out.Code != 1 || !strings.HasPrefix(out.Stderr, forbidden) || !strings.HasSuffix(out.Stderr, tt.before+refusal+"\n") {
				t.Errorf("it ends with %d, and says\n%s\nwant 1, and the end\n%s%s", out.Code, out.Stderr, tt.before, refusal)
			}
			if got := stored(t, e, with); got != "1, protected" {
				t.Errorf("the object is %q", got)
			}

			// The right to unprotect is one to take the label away, not to delete.
			wantCode, wantStored := 0, "2"
			if tt.deletes {
				wantCode, wantStored = 1, "1, protected"
			}
			if out := kubectl(t, e, ns, owner, without, tt.args...); out.Code != wantCode {
				t.Errorf("who may unprotect reads %d, want %d: %s", out.Code, wantCode, out.Stderr)
			}
			if got := stored(t, e, with); got != wantStored {
				t.Errorf("the object is %q after that, want %q", got, wantStored)
			}
		})
	}
}

// People protect what others apply: the label is in no manifest.
func TestKubectl_aLabelSetByHandIsInNobodysWay(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, _ := users(t, e, ns)
	for i, args := range [][]string{{"apply"}, {"apply", "--server-side"}} {
		name := fmt.Sprintf("case-%d", i)
		before, after := configMap(ns, name, "1"), configMap(ns, name, "2")
		if out := kubectl(t, e, ns, editor, before, args...); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		if out := e.Kubectl(t, "--as", editor, "label", "-n", ns, "configmaps/"+name, label+"=Always"); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		if out := kubectl(t, e, ns, editor, after, args...); out.Code != 0 {
			t.Errorf("%v: %s", args, out.Stderr)
		}
		if got := stored(t, e, after); got != "2, protected" {
			t.Errorf("the object is %q after %v", got, args)
		}
		// A PUT writes what is in the file and nothing else.
		out := kubectl(t, e, ns, editor, configMap(ns, name, "3"), "replace")
		want := forbidden + `error when replacing "STDIN": ` + unprotectRefused(ns, "configmaps/"+name) + "\n"
		if diff := cmp.Diff(want, out.Stderr); diff != "" {
			t.Errorf("replace says (-want +got):\n%s", diff)
		}
	}
}

func TestKubectl_pruneEndsAtTheProtectedObject(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	editor, owner := users(t, e, ns)
	const app = "app: web"
	objects := []string{configMap(ns, "a", "1", app), configMap(ns, "b", "1", app, always), configMap(ns, "c", "1", app), configMap(ns, "d", "1", app)}
	all := func() (out []string) {
		for _, o := range objects {
			out = append(out, stored(t, e, o))
		}
		return out
	}
	if out := kubectl(t, e, ns, editor, strings.Join(objects, "\n---\n"), "apply"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	prune := []string{"apply", "--prune", "-l", "app=web", "--prune-allowlist=core/v1/ConfigMap"}

	out := kubectl(t, e, ns, editor, configMap(ns, "d", "2", app), prune...)
	want := "error: error pruning namespaced object /v1, Kind=ConfigMap: " + deleteRefused(ns, "configmaps/b") + "\n"
	if diff := cmp.Diff(want, out.Stderr); diff != "" || out.Code != 1 {
		t.Errorf("it ends with %d, and says (-want +got):\n%s", out.Code, diff)
	}
	// What comes after the refusal waits for it.
	if diff := cmp.Diff([]string{"gone", "1, protected", "1", "2"}, all()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}

	if out := followAdvice(t, e, owner, want); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	if out := kubectl(t, e, ns, editor, configMap(ns, "d", "2", app), prune...); out.Code != 0 {
		t.Errorf("after that it says: %s", out.Stderr)
	}
	if diff := cmp.Diff([]string{"gone", "gone", "gone", "2"}, all()); diff != "" {
		t.Errorf("what is left at last (-want +got):\n%s", diff)
	}
}
