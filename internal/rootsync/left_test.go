// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// byConfigSync is an object as Config Sync has left it for a RootSync and a commit, with what
// else it has written on it. Annotations are those of research on its sources, and not what
// Stamp makes, which is what this is to be compared with.
func (r *rig) byConfigSync(short, commit, manifest, resourceID, source string, more ...string) string {
	sync := object.Sync(r.name(short))
	annotations := append([]string{
		"configmanagement.gke.io/managed: enabled",
		fmt.Sprintf("configsync.gke.io/manager: %q", ":root_"+string(sync)),
		fmt.Sprintf("configsync.gke.io/resource-id: %q", r.long(resourceID)),
		fmt.Sprintf("configsync.gke.io/git-context: '%s'", fmt.Sprintf(`{"repo":%q,"branch":"main","rev":"HEAD"}`, r.url(short))),
		fmt.Sprintf("configmanagement.gke.io/token: %q", commit),
		fmt.Sprintf("config.k8s.io/owning-inventory: config-management-system_%s", sync),
	}, more...)
	labels := "app.kubernetes.io/managed-by: configmanagement.gke.io, applyset.kubernetes.io/part-of: " + sync.ApplySet()
	if source != "" {
		annotations = append(annotations, "configmanagement.gke.io/source-path: "+source)
		labels += ", configsync.gke.io/declared-version: v1"
	}
	return strings.Replace(r.long(manifest), "metadata: {", "metadata: {labels: {"+labels+"}, annotations: {"+strings.Join(annotations, ", ")+"}, ", 1)
}

// leaves has Config Sync have synced a RootSync, up to its end: a namespace made along the
// way, and objects in it and in a declared one.
func (l *ledger) leaves(short string, more ...string) (commit string) {
	l.t.Helper()
	declared, along := short+"d", short+"i"
	manifests := []string{ns(declared), cm(declared, "one", "1"), cm(along, "two", "1"), role(declared, "r")}
	commit = l.commit(short, "x.yaml", strings.Join(manifests, ""))
	ids := []string{"_namespace_{" + declared + "}", "_configmap_{" + declared + "}_one", "_configmap_{" + along + "}_two", "rbac.authorization.k8s.io_role_{" + declared + "}_r"}
	text := l.byConfigSync(short, commit, ns(along), "_namespace_{"+along+"}", "", append(slices.Clone(more), "client.lifecycle.config.k8s.io/deletion: detach")...)
	for i, manifest := range manifests {
		text += l.byConfigSync(short, commit, manifest, ids[i], "x.yaml", more...)
	}
	if out := l.KubectlInput(l.t, text, "apply", "--server-side", "--field-manager=configsync.gke.io", "-f", "-"); out.Code != 0 {
		l.t.Fatal(out.Stderr)
	}
	item := "{namespace: \"%s\", name: \"%s\", group: \"%s\", kind: %s}"
	l.Apply(l.t, "", fmt.Sprintf(`
apiVersion: kpt.dev/v1alpha1
kind: ResourceGroup
metadata:
  name: %[1]s
  namespace: config-management-system
  labels: {cli-utils.sigs.k8s.io/inventory-id: config-management-system_%[1]s}
  annotations: {configsync.gke.io/status: enabled}
spec:
  resources: [%s]
`, l.name(short), strings.Join([]string{
		fmt.Sprintf(item, "", l.name(declared), "", "Namespace"), fmt.Sprintf(item, "", l.name(along), "", "Namespace"),
		fmt.Sprintf(item, l.name(declared), "one", "", "ConfigMap"), fmt.Sprintf(item, l.name(along), "two", "", "ConfigMap"),
		fmt.Sprintf(item, l.name(declared), "r", "rbac.authorization.k8s.io", "Role"),
	}, ", ")))
	return commit
}

// withFinalizers makes a RootSync as Config Sync has left it.
func (l *ledger) withFinalizers(short string, finalizers ...string) {
	text := l.rootSyncText(short, fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: 1s}", l.url(short)))
	head := fmt.Sprintf("metadata:\n  finalizers: [%s]\n  labels: {applyset.kubernetes.io/id: %s}\n  annotations: {applyset.kubernetes.io/tooling: configsync.gke.io/v1}\n",
		strings.Join(finalizers, ", "), object.Sync(l.name(short)).ApplySet())
	l.Apply(l.t, object.SyncNamespace, strings.Replace(text, "metadata:\n", head, 1))
}

// rewritten are the writes since a number of them to objects of RootSyncs, in namespaces
// that begin with a name.
func (l *ledger) rewritten(since int, short string) []string {
	return slices.DeleteFunc(l.done()[since:], func(w string) bool {
		f := strings.Fields(w)
		namespace, name, _ := strings.Cut(f[2], "/")
		return !strings.HasPrefix(namespace, l.name(short)) && (namespace != "" || !strings.HasPrefix(name, l.name(short)))
	})
}

// itself is what there is of Config Sync beside what it has made.
const itself = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: reconciler-manager, namespace: config-management-system}
spec: {replicas: 1, selector: {matchLabels: {a: r}}, template: {metadata: {labels: {a: r}}, spec: {containers: [{name: c, image: nothing.invalid/c}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: root-reconciler-%s, namespace: config-management-system}
spec: {replicas: 1, selector: {matchLabels: {a: s}}, template: {metadata: {labels: {a: s}}, spec: {containers: [{name: c, image: nothing.invalid/c}]}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: admission-webhook.configsync.gke.io}
webhooks:
- name: admission-webhook.configsync.gke.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{operations: [UPDATE, DELETE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  objectSelector: {matchLabels: {configsync.gke.io/declared-version: v1}}
`

// guide are the commands by which people change over, and who runs them.
func (l *ledger) guide() ([]page.Script, page.Reader) {
	return page.Read(l.t, "docs/guides/from-config-sync.md").Scripts(l.t, "Change over"), l.Reader(l.t)
}

const (
	ofReconciler = "configsync.gke.io/reconciler"
	ofManager    = "configsync.gke.io/reconciler-manager"
)

// takesOver has the sync begin with what Config Sync has left, in each state in which that
// can be, and counts what it writes to the objects.
func (l *ledger) takesOver() {
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	commits := map[string]string{"ta": l.leaves("ta"), "tb": l.leaves("tb", `configsync.gke.io/declared-fields: "{}"`, "configmanagement.gke.io/cluster-name: prod")}
	l.leaves("tc")
	for short := range commits {
		l.withFinalizers(short, ofReconciler, ofManager)
	}
	// Config Sync was stopped in the middle of the end of this one: its reconciler was done.
	l.withFinalizers("tc", ofManager)
	l.Expect(l.Client.Delete(l.t.Context(), l.rootSync("tc"))).To(gomega.Succeed())
	l.Apply(l.t, "", fmt.Sprintf(itself, l.name("ta")))
	l.Expect(l.Client.Status().Patch(l.t.Context(), l.rootSync("ta"), client.RawPatch(types.MergePatchType, []byte(`{"status":{"reconciler":"root-reconciler-`+l.name("ta")+`"}}`)))).To(gomega.Succeed())
	guide, reader := l.guide()
	reader.Run(l.t, guide[:3]...) // up to where the sync starts
	l.Expect(l.Kubectl(l.t, "get", "deployments", "-n", object.SyncNamespace, "-o", "jsonpath={range .items[*]}{.metadata.name}={.spec.replicas}{end}").Stdout).
		To(gomega.Equal("reconciler-manager=0"))
	versions, before := l.versions(), len(l.done())

	l.start(leaderless)
	reader.Run(l.t, guide[3:]...)
	l.Expect(l.Kubectl(l.t, "delete", "deployment", "reconciler-manager", "-n", object.SyncNamespace).Code).To(gomega.Equal(0))
	for short, commit := range commits {
		l.synced(short, commit)
	}
	l.gone("tc")
	l.still()
	l.Expect(l.rewritten(before, "ta")).To(gomega.BeEmpty(), "as Config Sync has left it")
	l.Expect(l.rewritten(before, "tc")).To(gomega.BeEmpty(), "of a RootSync that was at its end")
	l.Expect(l.rewritten(before, "tb")).To(gomega.HaveLen(5), "what only Config Sync writes is taken off each object once")
	for at, version := range l.versions() {
		if former, was := versions[at]; !was || former != version && !strings.Contains(at, l.name("tb")) {
			l.t.Errorf("%s was %q, and is %q", at, former, version)
		}
	}

	// The finalizers of Config Sync keep no RootSync: that of the manager goes with the other.
	before = len(l.done())
	l.deleted("ta")
	l.manager("ns", "tad", "")
	l.manager("cm", "tai/two", "")
	l.Expect(l.rewritten(before, "ta")).To(gomega.HaveLen(5), "each object is let go of by one write")
	// Nobody has what the third one had.
	for _, name := range []string{"tcd", "tci"} {
		l.delete("ns", name)
	}
	for _, name := range []string{"tcd", "tci"} {
		l.Eventually(func() bool { return l.object("ns", name) == nil }, within, often).Should(gomega.BeTrue())
	}
}
