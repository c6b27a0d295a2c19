// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	plugin "github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

// TestSyncDiff_besideTrees holds what "kubectl holdfast sync diff" says would change against what the sync then does,
// and has the story of a tree that Holdfast keeps.
func TestSyncDiff_besideTrees(t *testing.T) {
	t.Parallel()
	env := testkit.New(t, testkit.Options{
		Manifests:     []string{definitions, "config/rbac/hierarchy.yaml"},
		Configuration: "hierarchy: {mode: Enforce}\n",
	})
	env.StartSync(t)
	t.Run("trees", func(t *testing.T) {
		testscript.Run(t, params(t, env, testscript.Params{Dir: "testdata/hns/holdfast"}))
	})
	t.Run("scripts", func(t *testing.T) { testDiffScripts(t, env) })
	t.Run("whatever it looks at, all that could write is a dry run", func(t *testing.T) { testDiffWritesNothing(t, env) })
}

// testDiffScripts have a repository each on two servers: PRIVATE is on one that asks for a login
// and has a certificate of its own, ca.pem.
func testDiffScripts(t *testing.T, env *testkit.Env) {
	server := gitserver.Start(t, gitserver.Options{})
	private := gitserver.Start(t, gitserver.Options{TLS: true, Username: "robot", Password: "secret"})
	p := params(t, env, testscript.Params{Dir: "testdata/diff"})
	p.Cmds["commit"] = func(ts *testscript.TestScript, _ bool, args []string) { commit(ts, args, server, private) }
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		if err := setup(e); err != nil {
			return err
		}
		e.Setenv("REPO", server.Repo(t, e.Getenv("NS")).URL())
		e.Setenv("PRIVATE", private.Repo(t, e.Getenv("NS")).URL())
		return os.WriteFile(filepath.Join(e.WorkDir, "ca.pem"), []byte(private.CA()), 0o600)
	}
	testscript.Run(t, p)
}

// commit makes a commit of the files in a folder, in which NS is the namespace of the
// script, in its repositories:
//
//	commit FOLDER
func commit(ts *testscript.TestScript, args []string, servers ...*gitserver.Server) {
	if len(args) != 1 {
		ts.Fatalf("usage: commit FOLDER")
	}
	root, files := ts.MkAbs(args[0]), map[string]string{}
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = strings.ReplaceAll(string(text), "NS", ts.Getenv("NS"))
		return err
	}))
	for _, s := range servers {
		s.Repo(failing{ts}, ts.Getenv("NS")).Commit(failing{ts}, files)
	}
}

// failing is a script where a test is asked for.
type failing struct{ ts *testscript.TestScript }

func (failing) Helper() {}

func (f failing) Fatal(args ...any) { f.ts.Fatalf("%v", args) }

func testDiffWritesNothing(t *testing.T, env *testkit.Env) {
	ns := env.Namespace(t)
	repo := gitserver.Start(t, gitserver.Options{}).Repo(t, "r")
	repo.Commit(t, map[string]string{
		"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: " + ns + "}, data: {k: v}}",
		"b.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: " + ns + "-more}}",
	})
	rs := &configsyncv1beta1.RootSync{}
	rs.Namespace, rs.Name = object.SyncNamespace, ns
	rs.Annotations = map[string]string{configsyncv1beta1.AnnotationSuspend: "true"}
	rs.Spec = configsyncv1beta1.RootSyncSpec{
		SourceFormat: configsyncv1beta1.FormatUnstructured,
		Git:          &configsyncv1beta1.Git{Repo: repo.URL(), Branch: "main", Auth: configsyncv1beta1.AuthNone},
	}
	if err := env.Client.Create(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Client.Delete(context.WithoutCancel(t.Context()), rs); err != nil {
			t.Error(err)
		}
	})
	tried := 0
	for _, r := range requestsOf(t, env, plugin.Command, "diff", ns) {
		switch {
		case r.Method == http.MethodGet:
		case strings.Contains(r.URL.RawQuery, "dryRun="+metav1.DryRunAll):
			tried++
		case !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			t.Errorf("%s %s writes", r.Method, r.URL)
		}
	}
	if tried != 2 {
		t.Errorf("%d objects were tried, and not 2", tried)
	}
}
