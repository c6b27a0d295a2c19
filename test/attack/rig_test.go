// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

const (
	patience = "180s"
	often    = "100ms"

	syncs = configsyncv1beta1.Namespace
)

// rig has the objects of one test. {a} stands for the namespace "a" of the test, and
// {.} for what the names of all of them begin with.
type rig struct {
	*testkit.Env
	*gomega.WithT
	t      *testing.T
	prefix string
	git    *gitserver.Server
}

func shared(t *testing.T) *rig {
	t.Helper()
	e := testkit.SharedSync(t)
	r := &rig{Env: e, WithT: gomega.NewWithT(t), t: t, prefix: e.Namespace(t), git: gitserver.Start(t, gitserver.Options{})}
	t.Cleanup(r.end)
	return r
}

// end deletes the RootSyncs of the test, which leaves what they have.
func (r *rig) end() {
	var all configsyncv1beta1.RootSyncList
	ctx := context.WithoutCancel(r.t.Context())
	if err := r.Client.List(ctx, &all, client.InNamespace(syncs)); err != nil {
		r.t.Error(err)
	}
	for i := range all.Items {
		if rs := &all.Items[i]; strings.HasPrefix(rs.Name, r.prefix) {
			if err := r.Client.Delete(ctx, rs); client.IgnoreNotFound(err) != nil {
				r.t.Error(err)
			}
		}
	}
	if r.t.Failed() {
		r.t.Logf("the log of the guard ends:\n%s\nthe log of the sync ends:\n%s", r.Manager.LogTail(), r.Sync.LogTail())
	}
}

var inBraces = regexp.MustCompile(`\{([a-z0-9]+|\.)\}`)

// long spells names out.
func (r *rig) long(text string) string {
	return inBraces.ReplaceAllStringFunc(text, func(m string) string {
		if m == "{.}" {
			return r.prefix
		}
		return r.prefix + "-" + m[1:len(m)-1]
	})
}

// apply applies manifests, as a user if one is named. It tries again while the cluster has yet to learn what was made
// a moment before.
func (r *rig) apply(user, yaml string) {
	r.t.Helper()
	args := []string{"apply", "--server-side", "--field-manager=a-user", "-f", "-"}
	if user != "" {
		args = append(args, "--as="+r.long(user))
	}
	r.Eventually(func() string { return r.KubectlInput(r.t, r.long(yaml), args...).Stderr }, patience, often).Should(gomega.BeEmpty(), yaml)
}

// kubectl runs a command of words.
func (r *rig) kubectl(line string) testkit.Output {
	r.t.Helper()
	return r.Kubectl(r.t, strings.Fields(r.long(line))...)
}

// see waits until kubectl says something; an object that is not there says nothing.
func (r *rig) see(line, want string) {
	r.t.Helper()
	r.Eventually(func() string {
		out := r.kubectl("get --ignore-not-found " + line)
		return out.Stdout + out.Stderr
	}, patience, often).Should(gomega.Equal(r.long(want)), line)
}

// told waits until an event about an object of the namespace has a reason.
func (r *rig) told(namespace, name, reason string) {
	r.t.Helper()
	r.Eventually(func() ([]string, error) {
		var all eventsv1.EventList
		err := r.Client.List(r.t.Context(), &all, client.InNamespace(r.long(namespace)))
		var out []string
		for _, e := range all.Items {
			if e.Regarding.Name == r.long(name) {
				out = append(out, e.Reason)
			}
		}
		return out, err
	}, patience, often).Should(gomega.ContainElement(reason), name)
}

// deletes is how often an object was asked to be deleted.
func (r *rig) deletes(resource, namespace, name string) (n int) {
	r.t.Helper()
	events, err := requests.Events()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if o := e.ObjectRef; o != nil && o.Resource == resource && o.Namespace == r.long(namespace) && o.Name == r.long(name) {
			n++
		}
	}
	return n
}

// commit commits a manifest, and makes the RootSync of that repository, with roles in the flow style of YAML.
func (r *rig) commit(sync, roles, yaml string) string {
	r.t.Helper()
	repo := r.git.Repo(r.t, sync)
	commit := repo.Commit(r.t, map[string]string{"x.yaml": r.long(yaml)})
	r.apply("", fmt.Sprintf(`
apiVersion: configsync.gke.io/v1beta1
kind: RootSync
metadata: {name: "{%s}", namespace: %s}
spec:
  sourceFormat: unstructured
  git: {repo: %q, branch: main, auth: none, period: 1s}
  override: {namespaceStrategy: explicit, roleRefs: [%s]}
`, sync, syncs, repo.URL(), roles))
	return commit
}

// synced waits until a commit is synced.
func (r *rig) synced(sync, commit string) {
	r.t.Helper()
	r.says(sync, gomega.Equal("synced "+commit))
}

// says waits until the state of a RootSync is as wanted: "synced COMMIT", or "stalled: " and the message.
func (r *rig) says(sync string, want gomega.OmegaMatcher) {
	r.t.Helper()
	r.Eventually(func() string {
		rs := &configsyncv1beta1.RootSync{}
		if err := r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: syncs, Name: r.long("{" + sync + "}")}, rs); err != nil {
			return err.Error()
		}
		for _, c := range rs.Status.Conditions {
			if c.Type == configsyncv1beta1.ConditionStalled && c.Status == "True" {
				return "stalled: " + c.Message
			}
		}
		return "synced " + rs.Status.LastSyncedCommit
	}, patience, often).Should(want, sync)
}

// tenant makes a namespace with a user {nsadmin}, who is its admin.
func (r *rig) tenant(namespace string) {
	r.t.Helper()
	r.apply("", `{apiVersion: v1, kind: Namespace, metadata: {name: "`+namespace+`"}}`+"\n---\n"+binding(namespace, "admin", "admin", nsadmin, ""))
}

// nsadmin is the subject of the bindings of a tenant.
const nsadmin = `{apiGroup: rbac.authorization.k8s.io, kind: User, name: "{nsadmin}"}`

// binding is a RoleBinding to a ClusterRole.
func binding(namespace, name, role, subject, labels string) string {
	return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %q, namespace: %q, labels: {%s}},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [%s]}`+"\n---\n", name, namespace, labels, role, subject)
}

func cm(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %q}}\n---\n", name, namespace)
}
