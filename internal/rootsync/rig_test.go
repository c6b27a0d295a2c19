// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

const (
	within = "180s"
	often  = "200ms"
)

// rig has RootSyncs of one test, whose names and namespaces begin with its prefix.
type rig struct {
	*testkit.Env
	*gomega.WithT
	t      *testing.T
	prefix string
	git    *gitserver.Server
	// served has the repositories be asked for over HTTP, which takes four times of what a folder takes.
	served bool
}

func shared(t *testing.T) *rig {
	t.Helper()
	return newRig(t, testkit.SharedSync(t))
}

func newRig(t *testing.T, e *testkit.Env) *rig {
	t.Helper()
	r := &rig{Env: e, WithT: gomega.NewWithT(t), t: t, git: gitserver.Start(t, gitserver.Options{})}
	r.prefix = strings.TrimPrefix(e.Namespace(t), "test-") // a namespace, for a name that is nobody else's
	t.Cleanup(r.end)
	return r
}

// end takes the RootSyncs away with what they have.
func (r *rig) end() {
	ctx := context.WithoutCancel(r.t.Context())
	var all configsyncv1beta1.RootSyncList
	if err := r.Client.List(ctx, &all, client.InNamespace(object.SyncNamespace)); err != nil {
		r.t.Error(err)
	}
	for i := range all.Items {
		if rs := &all.Items[i]; strings.HasPrefix(rs.Name, r.prefix) {
			if r.t.Failed() {
				status, _ := json.Marshal(rs.Status)
				r.t.Logf("RootSync %s: %s", rs.Name, status)
			}
			if err := r.Client.Delete(ctx, rs); client.IgnoreNotFound(err) != nil {
				r.t.Error(err)
			}
		}
	}
	if r.t.Failed() && r.Sync != nil {
		r.t.Logf("the log of the sync ends:\n%s", r.Sync.LogTail())
	}
}

// name is the name of a RootSync or a namespace of the test.
func (r *rig) name(short string) string { return r.prefix + "-" + short }

// long spells out names: {a} is r.name("a").
func (r *rig) long(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed || strings.ContainsAny(name, " :,\"") || name == "" {
			b.WriteString(before)
			if !found {
				return b.String()
			}
			b.WriteString("{")
			text = rest
			continue
		}
		b.WriteString(before + r.name(name))
		text = after
	}
}

// files are those of a commit, with names spelled out.
func (r *rig) files(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = r.long(pairs[i+1])
	}
	return out
}

// repo is the repository of a RootSync.
func (r *rig) repo(sync string) *gitserver.Repo { return r.git.Repo(r.t, sync) }

// url is where RootSyncs look for a repository.
func (r *rig) url(sync string) string {
	if r.served {
		return r.repo(sync).URL()
	}
	return r.repo(sync).FileURL()
}

// commit commits files, and only these, and returns what the commit is called.
func (r *rig) commit(sync string, pairs ...string) string {
	r.t.Helper()
	return r.repo(sync).Commit(r.t, r.files(pairs...))
}

// sync makes a RootSync of the repository of its name. Lines of its spec can be added.
func (r *rig) sync(short string, more ...string) {
	r.t.Helper()
	r.syncEvery(short, "1s", more...)
}

func (r *rig) syncEvery(short, period string, more ...string) {
	r.t.Helper()
	r.from(short, fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: %s}", r.url(short), period), more...)
}

// from makes a RootSync of another source.
func (r *rig) from(short, source string, more ...string) {
	r.t.Helper()
	r.Apply(r.t, object.SyncNamespace, r.rootSyncText(short, source, more...))
}

func (r *rig) rootSyncText(short, source string, more ...string) string {
	return r.long(fmt.Sprintf(`
apiVersion: configsync.gke.io/v1beta1
kind: RootSync
metadata:
  name: %s
  namespace: %s
spec:
  sourceFormat: unstructured
  %s
%s`, r.name(short), object.SyncNamespace, source, strings.Join(more, "\n")))
}

// syncOf commits one file, makes a RootSync of it, and returns the commit once it is
// synced.
func (r *rig) syncOf(short, text string, more ...string) string {
	r.t.Helper()
	commit := r.commit(short, "x.yaml", text)
	r.sync(short, more...)
	r.synced(short, commit)
	return commit
}

// annotate adds an annotation "key=value" to a RootSync, and "key-" takes one away.
func (r *rig) annotate(short, annotation string) {
	r.t.Helper()
	key, text, added := strings.Cut(annotation, "=")
	var value any
	if added {
		value = text
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{strings.TrimSuffix(key, "-"): value}}})
	r.Expect(err).NotTo(gomega.HaveOccurred())
	rs := &configsyncv1beta1.RootSync{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: r.name(short)}}
	r.Expect(r.Client.Patch(r.t.Context(), rs, client.RawPatch(types.MergePatchType, body))).To(gomega.Succeed())
}

func (r *rig) rootSync(short string) *configsyncv1beta1.RootSync {
	rs := &configsyncv1beta1.RootSync{}
	if err := r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: object.SyncNamespace, Name: r.name(short)}, rs); err != nil {
		rs.Status.Reconciler = err.Error()
	}
	return rs
}

// synced waits until a commit is synced without errors.
func (r *rig) synced(short, commit string) {
	r.t.Helper()
	r.Eventually(func() string { return r.status(short) }, within, often).Should(gomega.Equal("synced "+commit), short)
}

// status is "synced COMMIT", or what is wrong.
func (r *rig) status(short string) string {
	rs := r.rootSync(short)
	var errs []string
	for _, list := range [][]configsyncv1beta1.Error{rs.Status.Source.Errors, rs.Status.Rendering.Errors, rs.Status.Sync.Errors} {
		for _, e := range list {
			line, _, _ := strings.Cut(e.ErrorMessage, "\n")
			errs = append(errs, line)
		}
	}
	state := "no condition"
	for _, c := range rs.Status.Conditions {
		switch {
		case c.Type == configsyncv1beta1.ConditionStalled && c.Status == "True":
			return "stalled: " + c.Message
		case c.Type == configsyncv1beta1.ConditionSyncing && c.Status == "True":
			state = "syncing " + c.Message
		case c.Type == configsyncv1beta1.ConditionSyncing:
			state = "synced " + rs.Status.LastSyncedCommit
		}
	}
	if rs.Status.Source.Commit != rs.Status.Sync.Commit {
		state = "fetched " + rs.Status.Source.Commit
	}
	if len(errs) > 0 {
		return strings.Join(errs, " | ")
	}
	return state
}

// says waits until the status has something in it.
func (r *rig) says(short, text string) {
	r.t.Helper()
	r.Eventually(func() string { return r.status(short) }, within, often).Should(gomega.ContainSubstring(r.long(text)), short)
}

var kinds = map[string]schema.GroupVersionKind{
	"cm":        {Version: "v1", Kind: "ConfigMap"},
	"ns":        {Version: "v1", Kind: "Namespace"},
	"secret":    {Version: "v1", Kind: "Secret"},
	"role":      {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	"account":   {Version: "v1", Kind: "ServiceAccount"},
	"inventory": group.Resource.GroupVersion().WithKind("ResourceGroup"),
}

// object reads an object: "cm a/x" or "ns a"; nil if there is none. A namespace that is
// not of the test begins with "/".
func (r *rig) object(kind, at string) *unstructured.Unstructured {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kinds[kind])
	key := r.key(at)
	if err := r.Client.Get(r.t.Context(), key, u); err != nil {
		if client.IgnoreNotFound(err) != nil {
			r.t.Fatal(err)
		}
		return nil
	}
	return u
}

func (r *rig) key(at string) client.ObjectKey {
	namespace, name, inside := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	if !strings.HasPrefix(at, "/") {
		namespace = r.name(namespace)
	}
	if !inside {
		return client.ObjectKey{Name: namespace}
	}
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// patch merges something into an object.
func (r *rig) patch(kind, at, body string) {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kinds[kind])
	key := r.key(at)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	r.Expect(r.Client.Patch(r.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(r.long(body))))).To(gomega.Succeed())
}

// delete deletes an object, and does not wait.
func (r *rig) delete(kind, at string) {
	r.t.Helper()
	if o := r.object(kind, at); o != nil {
		// On a busy machine Holdfast may not be able to look in time what is in a namespace.
		r.Eventually(func() error { return r.Client.Delete(r.t.Context(), o) }, within, often).Should(gomega.Or(gomega.Succeed(), gomega.Satisfy(apierrors.IsNotFound)))
	}
}

// value waits until a ConfigMap has a value.
func (r *rig) value(at, want string) {
	r.t.Helper()
	r.Eventually(func() string {
		v, _, _ := unstructuredString(r.object("cm", at), "data", "v")
		return v
	}, within, often).Should(gomega.Equal(want), at)
}

// spec changes the spec of a RootSync.
func (r *rig) spec(short, body string) {
	r.t.Helper()
	r.Expect(r.Client.Patch(r.t.Context(), r.rootSync(short), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+r.long(body)+`}`)))).To(gomega.Succeed())
}

// manager waits until an object has a manager; "" stands for none, and "-" for no object.
func (r *rig) manager(kind, at, sync string) {
	r.t.Helper()
	want := sync
	if sync != "" && sync != "-" {
		want = object.Sync(r.name(sync)).Manager()
	}
	r.Eventually(func() string {
		o := r.object(kind, at)
		if o == nil || o.GetDeletionTimestamp() != nil {
			return "-"
		}
		return o.GetAnnotations()[object.AnnotationManager]
	}, within, often).Should(gomega.Equal(want), "%s %s", kind, at)
}

// cm and ns are manifests.
func cm(namespace, name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: \"{%s}\"}\ndata: {v: %q}\n---\n", name, namespace, value)
}

func ns(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: \"{%s}\"}\n---\n", name)
}

// unstructuredString is a field of an object that may not be there.
func unstructuredString(o *unstructured.Unstructured, fields ...string) (string, bool, error) {
	if o == nil {
		return "", false, nil
	}
	return unstructured.NestedString(o.Object, fields...)
}
