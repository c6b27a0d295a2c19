// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

const (
	// patience is for failures alone: that a namespace has ended takes its time.
	patience = "240s"
	often    = "100ms"
	// slower is for what runs a command each time, which costs more than to read an object.
	slower = "400ms"

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
	bin    string // has the plugin, once it was run
}

func shared(t *testing.T) *rig {
	t.Helper()
	e := testkit.SharedSync(t)
	r := &rig{Env: e, WithT: gomega.NewWithT(t), t: t, prefix: e.Namespace(t), git: gitserver.Start(t, gitserver.Options{})}
	t.Cleanup(r.end)
	return r
}

// end takes the RootSyncs away; what they have stays.
func (r *rig) end() {
	var all configsyncv1beta1.RootSyncList
	ctx := context.WithoutCancel(r.t.Context())
	if err := r.Client.List(ctx, &all, client.InNamespace(syncs)); err != nil {
		r.t.Error(err)
	}
	for i := range all.Items {
		if rs := &all.Items[i]; strings.HasPrefix(rs.Name, r.prefix) {
			if r.t.Failed() {
				r.t.Logf("RootSync %s: %s", rs.Name, told(rs))
			}
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

// apply applies manifests as a user does, who is tried again while Holdfast has yet to
// learn of what was made a moment before.
func (r *rig) apply(yaml string) {
	r.t.Helper()
	r.Eventually(func() string {
		return r.KubectlInput(r.t, r.long(yaml), "apply", "--server-side", "--field-manager=a-user", "-f", "-").Stderr
	}, patience, slower).Should(gomega.BeEmpty(), yaml)
}

// kubectl runs a command of words.
func (r *rig) kubectl(line string) testkit.Output {
	r.t.Helper()
	return r.Kubectl(r.t, strings.Fields(r.long(line))...)
}

// done runs a command of words until it is done.
func (r *rig) done(line string) {
	r.t.Helper()
	r.Eventually(func() string {
		if out := r.kubectl(line); out.Code != 0 {
			return out.Stderr
		}
		return ""
	}, patience, slower).Should(gomega.BeEmpty(), line)
}

// refused waits until a dry run of a command is refused in all of these words, and sees
// that the command itself then is.
func (r *rig) refused(line string, words ...string) {
	r.t.Helper()
	all := make([]gomega.OmegaMatcher, 0, len(words))
	for _, w := range words {
		all = append(all, gomega.ContainSubstring(r.long(w)))
	}
	r.Eventually(func() string { return r.kubectl(line + " --dry-run=server").Stderr }, patience, slower).Should(gomega.And(all...), line)
	r.Expect(r.kubectl(line).Stderr).To(gomega.And(all...), line)
}

// see waits until kubectl says something; an object that is not there says nothing.
func (r *rig) see(line, want string) {
	r.t.Helper()
	r.Eventually(func() string {
		out := r.kubectl("get --ignore-not-found " + line)
		return out.Stdout + out.Stderr
	}, patience, slower).Should(gomega.Equal(r.long(want)), line)
}

// gone waits until something is not there.
func (r *rig) gone(line string) {
	r.t.Helper()
	r.see(line+" -o name", "")
}

// holdfast runs the plugin, and returns what it says and its exit code.
func (r *rig) holdfast(line string) testkit.Output {
	r.t.Helper()
	return r.plugin("kubectl-holdfast", line)
}

// plugin runs a plugin of kubectl by its file.
func (r *rig) plugin(name, line string) testkit.Output {
	r.t.Helper()
	if r.bin == "" {
		r.bin = filepath.SplitList(r.Path(r.t))[0]
	}
	cmd := exec.CommandContext(r.t.Context(), filepath.Join(r.bin, name), strings.Fields(r.long(line))...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%s %s: %v", name, line, err)
	}
	return testkit.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// answers waits until the plugin says all of these words, and ends with an exit code.
func (r *rig) answers(line string, code int, words ...string) {
	r.t.Helper()
	all := []gomega.OmegaMatcher{gomega.HavePrefix(fmt.Sprintf("exit %d\n", code))}
	for _, w := range words {
		all = append(all, gomega.ContainSubstring(r.long(w)))
	}
	r.Eventually(func() string {
		out := r.holdfast(line)
		return fmt.Sprintf("exit %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}, patience, slower).Should(gomega.And(all...), line)
}

// endings are the kinds of which the tests have objects that could end.
var endings = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Namespace"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
	hncv1alpha2.GroupVersion.WithKind("SubnamespaceAnchor"),
	hncv1alpha2.GroupVersion.WithKind("HierarchyConfiguration"),
	configsyncv1beta1.GroupVersion.WithKind("RootSync"),
}

// terminating are the objects of the test that are being deleted.
func (r *rig) terminating() string {
	r.t.Helper()
	found := ""
	for _, kind := range endings {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(kind)
		if err := r.Client.List(r.t.Context(), &all); err != nil {
			r.t.Fatal(err)
		}
		for i := range all.Items {
			o := &all.Items[i]
			if at := kind.Kind + "/" + o.Namespace + "/" + o.Name; o.DeletionTimestamp != nil && strings.Contains(at, r.prefix) {
				found += at + "\n"
			}
		}
	}
	return found
}

// deletes is how many requests to delete an object of the test there were by one of
// Holdfast's accounts, whose name has a part.
func (r *rig) deletes(by, resource, namespace, name string) (n int) {
	r.t.Helper()
	events, err := requests.Events()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if o := e.ObjectRef; o != nil && o.Resource == resource && o.Namespace == r.long(namespace) && o.Name == r.long(name) &&
			o.Subresource == "" && strings.Contains(who(e), by) {
			n++
		}
	}
	return n
}

// who asked, or as whom.
func who(e auditv1.Event) string {
	if e.ImpersonatedUser != nil {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

// namespace reads one.
func (r *rig) namespace(name string) *corev1.Namespace {
	r.t.Helper()
	o := &corev1.Namespace{}
	if err := r.Client.Get(r.t.Context(), client.ObjectKey{Name: r.long(name)}, o); err != nil {
		r.t.Fatal(err)
	}
	return o
}

// commit commits a manifest, and makes the RootSync of that repository if there is none.
func (r *rig) commit(sync, yaml string) string {
	r.t.Helper()
	repo := r.git.Repo(r.t, sync)
	commit := repo.Commit(r.t, map[string]string{"x.yaml": r.long(yaml)})
	r.apply(fmt.Sprintf(`
apiVersion: configsync.gke.io/v1beta1
kind: RootSync
metadata: {name: "{%s}", namespace: %s}
spec:
  sourceFormat: unstructured
  git: {repo: %q, branch: main, auth: none, period: 1s}
`, sync, syncs, repo.URL()))
	return commit
}

// synced waits until a commit is synced without errors.
func (r *rig) synced(sync, commit string) {
	r.t.Helper()
	r.Eventually(func() string { return r.told(sync) }, patience, often).Should(gomega.Equal("synced "+commit), sync)
}

// says waits until a RootSync has an error of these words.
func (r *rig) says(sync string, words ...string) {
	r.t.Helper()
	for _, w := range words {
		r.Eventually(func() string { return r.told(sync) }, patience, often).Should(gomega.ContainSubstring(r.long(w)), sync)
	}
}

func (r *rig) told(sync string) string {
	rs := &configsyncv1beta1.RootSync{}
	if err := r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: syncs, Name: r.long("{" + sync + "}")}, rs); err != nil {
		return err.Error()
	}
	return told(rs)
}

// told is "synced COMMIT", or the errors in a line each.
func told(rs *configsyncv1beta1.RootSync) string {
	var errs []string
	for _, list := range [][]configsyncv1beta1.Error{rs.Status.Source.Errors, rs.Status.Rendering.Errors, rs.Status.Sync.Errors} {
		for _, e := range list {
			line, _, _ := strings.Cut(e.ErrorMessage, "\n")
			errs = append(errs, line)
		}
	}
	if len(errs) > 0 {
		return strings.Join(errs, "\n")
	}
	if rs.Status.Sync.Commit != rs.Status.LastSyncedCommit {
		return "syncing " + rs.Status.Sync.Commit
	}
	return "synced " + rs.Status.LastSyncedCommit
}

// Manifests of tests.
func ns(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: \"{%s}\"}}\n---\n", name)
}

func cm(namespace, name, value string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: \"{%s}\"}, data: {v: %q}}\n---\n", name, namespace, value)
}

func protected(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: \"{%s}\", labels: {holdfast.dev/deletion-protected: Always}}}\n---\n", name, namespace)
}

func anchor(parent, name string) string {
	return fmt.Sprintf("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: \"{%s}\", namespace: \"{%s}\"}}\n---\n", name, parent)
}

// hierarchy is the place of a namespace in a tree, as a spec of some fields.
func hierarchy(namespace, spec string) string {
	return fmt.Sprintf("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: \"{%s}\"}, spec: %s}\n---\n", namespace, spec)
}

// crd defines the kind Thing, of the test alone.
const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "things.{.}.example.com"}
spec:
  group: "{.}.example.com"
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
`

func thing(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: \"{.}.example.com/v1\", kind: Thing, metadata: {name: %s, namespace: \"{%s}\"}}\n---\n", name, namespace)
}
