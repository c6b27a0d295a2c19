// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// rig is a Story whose user has the plugins of kubectl.
type rig struct {
	*story.Story
	bin string // has the plugins, once one was run
}

func shared(t *testing.T) *rig {
	t.Helper()
	return &rig{Story: story.New(t)}
}

// done runs a command of words until it is done.
func (r *rig) done(line string) {
	r.T.Helper()
	r.Eventually(func() string {
		if out := r.Run(line); out.Code != 0 {
			return out.Stderr
		}
		return ""
	}, story.Patience, story.Slower).Should(gomega.BeEmpty(), line)
}

// refused waits until a dry run of a command is refused in all of these words, and sees
// that the command itself then is.
func (r *rig) refused(line string, words ...string) {
	r.T.Helper()
	all := make([]gomega.OmegaMatcher, 0, len(words))
	for _, w := range words {
		all = append(all, gomega.ContainSubstring(r.Long(w)))
	}
	r.Eventually(func() string { return r.Run(line + " --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.And(all...), line)
	r.Expect(r.Run(line).Stderr).To(gomega.And(all...), line)
}

// gone waits until something is not there.
func (r *rig) gone(line string) {
	r.T.Helper()
	r.See(line+" -o name", "")
}

// holdfast runs the plugin, and returns what it says and its exit code.
func (r *rig) holdfast(line string) testkit.Output {
	r.T.Helper()
	return r.plugin("kubectl-holdfast", line)
}

// plugin runs a plugin of kubectl by its file.
func (r *rig) plugin(name, line string) testkit.Output {
	r.T.Helper()
	if r.bin == "" {
		r.bin = filepath.SplitList(r.Path(r.T))[0]
	}
	cmd := exec.CommandContext(r.T.Context(), filepath.Join(r.bin, name), strings.Fields(r.Long(line))...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.T.Fatalf("%s %s: %v", name, line, err)
	}
	return testkit.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// answers waits until the plugin says all of these words, and ends with an exit code.
func (r *rig) answers(line string, code int, words ...string) {
	r.T.Helper()
	all := []gomega.OmegaMatcher{gomega.HavePrefix(fmt.Sprintf("exit %d\n", code))}
	for _, w := range words {
		all = append(all, gomega.ContainSubstring(r.Long(w)))
	}
	r.Eventually(func() string {
		out := r.holdfast(line)
		return fmt.Sprintf("exit %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}, story.Patience, story.Slower).Should(gomega.And(all...), line)
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
	r.T.Helper()
	found := ""
	for _, kind := range endings {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(kind)
		if err := r.Client.List(r.T.Context(), &all); err != nil {
			r.T.Fatal(err)
		}
		for i := range all.Items {
			o := &all.Items[i]
			if at := kind.Kind + "/" + o.Namespace + "/" + o.Name; o.DeletionTimestamp != nil && strings.Contains(at, r.Prefix) {
				found += at + "\n"
			}
		}
	}
	return found
}

// namespace reads one.
func (r *rig) namespace(name string) *corev1.Namespace {
	r.T.Helper()
	o := &corev1.Namespace{}
	if err := r.Client.Get(r.T.Context(), client.ObjectKey{Name: r.Long(name)}, o); err != nil {
		r.T.Fatal(err)
	}
	return o
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
