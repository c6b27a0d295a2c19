// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package story tests features together: a Story has namespaces of its own on a cluster that tests share, and RootSyncs
// from a Git server.
package story

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

const (
	// Patience bounds waits; a namespace takes long to end.
	Patience = "240s"
	// Often is the interval of checks that read an object.
	Often = "100ms"
	// Slower is the interval of checks that run a command, which takes longer.
	Slower = "400ms"

	// Syncs is the namespace of RootSyncs.
	Syncs = configsyncv1beta1.Namespace
)

// Story is one test. In its texts {a} is the name of its namespace "a", and {.} the prefix of all its names.
type Story struct {
	*testkit.Env
	*gomega.WithT
	T      *testing.T
	Prefix string
	git    *gitserver.Server
}

var requests *auditlog.Log

// Run runs the tests of a package on a shared cluster, which logs requests to delete.
func Run(m *testing.M, o testkit.Options) int { return auditlog.Run(m, o, &requests, "delete") }

// New returns a Story on the shared cluster. Its RootSyncs are deleted when the test ends; what they applied stays.
func New(t *testing.T) *Story {
	t.Helper()
	e := testkit.SharedSync(t)
	s := On(t, e, e.Namespace(t))
	s.git = gitserver.Start(t, gitserver.Options{})
	t.Cleanup(s.end)
	return s
}

// On returns a Story on another cluster, without a Git server.
func On(t *testing.T, e *testkit.Env, prefix string) *Story {
	return &Story{Env: e, WithT: gomega.NewWithT(t), T: t, Prefix: prefix}
}

func (s *Story) end() {
	var all configsyncv1beta1.RootSyncList
	ctx := context.WithoutCancel(s.T.Context())
	if err := s.Client.List(ctx, &all, client.InNamespace(Syncs)); err != nil {
		s.T.Error(err)
	}
	for i := range all.Items {
		if rs := &all.Items[i]; strings.HasPrefix(rs.Name, s.Prefix) {
			if s.T.Failed() {
				s.T.Logf("RootSync %s: %s", rs.Name, state(rs))
			}
			if err := s.Client.Delete(ctx, rs); client.IgnoreNotFound(err) != nil {
				s.T.Error(err)
			}
		}
	}
	if s.T.Failed() {
		s.T.Logf("the log of the guard ends:\n%s\nthe log of the sync ends:\n%s", s.Manager.LogTail(), s.Sync.LogTail())
	}
}

var inBraces = regexp.MustCompile(`\{([a-z0-9]+|\.)\}`)

// Long spells names out.
func (s *Story) Long(text string) string {
	return inBraces.ReplaceAllStringFunc(text, func(m string) string {
		if m == "{.}" {
			return s.Prefix
		}
		return s.Prefix + "-" + m[1:len(m)-1]
	})
}

// Apply applies manifests. It retries while Holdfast has not received events of the last requests.
func (s *Story) Apply(yaml string) {
	s.T.Helper()
	s.ApplyAs("", yaml)
}

// ApplyAs is Apply as a user.
func (s *Story) ApplyAs(user, yaml string) {
	s.T.Helper()
	args := []string{"apply", "--server-side", "--field-manager=a-user", "-f", "-"}
	if user != "" {
		args = append(args, "--as="+s.Long(user))
	}
	s.Eventually(func() string { return s.KubectlInput(s.T, s.Long(yaml), args...).Stderr }, Patience, Slower).Should(gomega.BeEmpty(), yaml)
}

// Run runs kubectl with arguments that are separated by blanks.
func (s *Story) Run(line string) testkit.Output {
	s.T.Helper()
	return s.Kubectl(s.T, strings.Fields(s.Long(line))...)
}

// See waits until "kubectl get" prints a text; of an object that does not exist it prints none.
func (s *Story) See(line, want string) {
	s.T.Helper()
	s.Eventually(func() string {
		out := s.Run("get --ignore-not-found " + line)
		return out.Stdout + out.Stderr
	}, Patience, Slower).Should(gomega.Equal(s.Long(want)), line)
}

// Repo returns the repository of a RootSync.
func (s *Story) Repo(sync string) *gitserver.Repo {
	s.T.Helper()
	return s.git.Repo(s.T, sync)
}

// Commit commits a manifest, and creates the RootSync of that repository, with roles in the flow style of YAML where there
// are some.
func (s *Story) Commit(sync, yaml string, roleRefs ...string) string {
	s.T.Helper()
	repo := s.Repo(sync)
	commit := repo.Commit(s.T, map[string]string{"x.yaml": s.Long(yaml)})
	override := ""
	if len(roleRefs) > 0 {
		override = fmt.Sprintf("  override: {namespaceStrategy: explicit, roleRefs: [%s]}\n", strings.Join(roleRefs, ", "))
	}
	s.Apply(fmt.Sprintf(`
apiVersion: configsync.gke.io/v1beta1
kind: RootSync
metadata: {name: "{%s}", namespace: %s}
spec:
  sourceFormat: unstructured
  git: {repo: %q, branch: main, auth: none, period: 1s}
`, sync, Syncs, repo.URL()) + override)
	return commit
}

// Synced waits until a commit is synced without errors.
func (s *Story) Synced(sync, commit string) {
	s.T.Helper()
	s.Eventually(func() string { return s.State(sync) }, Patience, Often).Should(gomega.Equal("synced "+commit), sync)
}

// Says waits until the state of a RootSync has words.
func (s *Story) Says(sync string, words ...string) {
	s.T.Helper()
	for _, w := range words {
		s.Eventually(func() string { return s.State(sync) }, Patience, Often).Should(gomega.ContainSubstring(s.Long(w)), sync)
	}
}

// State is "synced COMMIT", "syncing COMMIT", or lines: "stalled: MESSAGE" and the first line of each error.
func (s *Story) State(sync string) string {
	rs := &configsyncv1beta1.RootSync{}
	if err := s.Client.Get(s.T.Context(), client.ObjectKey{Namespace: Syncs, Name: s.Long("{" + sync + "}")}, rs); err != nil {
		return err.Error()
	}
	return state(rs)
}

func state(rs *configsyncv1beta1.RootSync) string {
	var lines []string
	for _, c := range rs.Status.Conditions {
		if c.Type == configsyncv1beta1.ConditionStalled && c.Status == "True" {
			lines = append(lines, "stalled: "+c.Message)
		}
	}
	for _, list := range [][]configsyncv1beta1.Error{rs.Status.Source.Errors, rs.Status.Rendering.Errors, rs.Status.Sync.Errors} {
		for _, e := range list {
			line, _, _ := strings.Cut(e.ErrorMessage, "\n")
			lines = append(lines, line)
		}
	}
	switch {
	case len(lines) > 0:
		return strings.Join(lines, "\n")
	case rs.Status.Sync.Commit != rs.Status.LastSyncedCommit:
		return "syncing " + rs.Status.Sync.Commit
	}
	return "synced " + rs.Status.LastSyncedCommit
}

// Deletes counts the requests to delete an object by users whose name contains by.
func (s *Story) Deletes(by, resource, namespace, name string) (n int) {
	s.T.Helper()
	events, err := requests.Events()
	if err != nil {
		s.T.Fatal(err)
	}
	for _, e := range events {
		user := e.User.Username
		if e.ImpersonatedUser != nil {
			user = e.ImpersonatedUser.Username
		}
		if o := e.ObjectRef; o != nil && o.Resource == resource && o.Namespace == s.Long(namespace) && o.Name == s.Long(name) &&
			o.Subresource == "" && strings.Contains(user, by) {
			n++
		}
	}
	return n
}
