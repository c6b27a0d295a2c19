// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// managedBy is a ConfigMap as another reconciler of Config Sync has left it.
func managedBy(reconciler, inventory, applySet string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  namespace: "{n}"
  labels: {app.kubernetes.io/managed-by: configmanagement.gke.io, applyset.kubernetes.io/part-of: %s, configsync.gke.io/declared-version: v1}
  annotations:
    configmanagement.gke.io/managed: enabled
    configmanagement.gke.io/token: "0123456"
    configsync.gke.io/manager: %q
    configsync.gke.io/resource-id: "_configmap_{n}_one"
    config.k8s.io/owning-inventory: %s
data: {v: "0", w: theirs}
`, applySet, reconciler, inventory)
}

// What a RepoSync has, or a RootSync that is there no more, a RootSync takes over as it
// stands. What a RootSync has that is there is another matter: see TestConflict.
func TestTakeOver_whatConfigSyncHasLeft(t *testing.T) {
	t.Parallel()
	gone := object.Sync("gone")
	for name, left := range map[string]string{
		"by a RepoSync":                   managedBy("team", "team_repo-sync", "applyset-of-the-reposync-v1"),
		"by a RootSync that is no more":   managedBy(gone.Manager(), gone.Inventory(), gone.ApplySet()),
		"by the RootSync's former self":   managedBy(":root_{a}", object.SyncNamespace+"_{a}", "applyset-of-old-v1"),
		"by nobody, with marks of a copy": managedBy("", "none_none", "applyset-of-nobody-v1"),
	} {
		t.Run(name, func(t *testing.T) {
			if name != "by a RepoSync" {
				testkit.Long(t)
			}
			t.Parallel()
			r := shared(t)
			r.Apply(t, "", r.long(ns("n")))
			if out := r.KubectlInput(t, r.long(left), "apply", "--server-side", "--field-manager="+object.FieldManager, "-f", "-"); out.Code != 0 {
				t.Fatal(out.Stderr)
			}
			uid := r.object("cm", "n/one").GetUID()
			r.syncOf("a", cm("n", "one", "1"))
			r.value("n/one", "1")
			r.manager("cm", "n/one", "a")
			o, sync := r.object("cm", "n/one"), object.Sync(r.name("a"))
			r.Expect(o.GetUID()).To(gomega.Equal(uid))
			r.Expect(o.GetLabels()).To(gomega.HaveKeyWithValue(object.LabelPartOf, sync.ApplySet()))
			r.Expect(o.GetAnnotations()).To(gomega.HaveKeyWithValue(object.AnnotationInventory, sync.Inventory()))
			w, _, _ := unstructuredString(o, "data", "w")
			r.Expect(w).To(gomega.BeEmpty(), "it was applied by the same field manager")
			r.synced("a", r.commit("a", "none.txt", ""))
			r.manager("cm", "n/one", "-")
		})
	}
}

// unclaimed has claims switched off: as in Config Sync whoever makes a namespace has it.
func (l *ledger) unclaimed() {
	file := filepath.Join(l.t.TempDir(), "config.yaml")
	text := "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nrootSync: {claims: false, allowFileSources: true}\n"
	l.Expect(os.WriteFile(file, []byte(text), 0o600)).To(gomega.Succeed())
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless, "--config", file)
	claims := func(name string) string { return l.object("ns", name).GetAnnotations()[v1alpha1.ClaimsAnnotation] }

	l.syncOf("ua", cm("x", "of-a", "1")+ns("y")+cm("y", "of-a", "1"))
	l.Expect(l.detached("x")).To(gomega.BeTrue())
	l.syncOf("ub", cm("x", "of-b", "1")+cm("y", "of-b", "1"))
	l.manager("ns", "x", "ua")
	l.manager("ns", "y", "ua")
	l.Expect(claims("x") + claims("y")).To(gomega.BeEmpty())

	// A start knows what it has all the same.
	before := l.calm()
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless, "--config", file)
	l.Eventually(func() int { return len(l.writes()) - before }, within, "1s").Should(gomega.BeNumerically(">=", 6))
	l.calm()
	l.Expect(slices.DeleteFunc(l.writes()[before:], isDry)).To(gomega.BeEmpty())

	// Who has made one along the way lets it go when it needs it no more, and takes nothing of others away.
	uid := l.object("ns", "x").GetUID()
	l.synced("ua", l.commit("ua", "x.yaml", ns("y")))
	l.manager("cm", "x/of-a", "-")
	l.Expect(l.object("ns", "x").GetUID()).To(gomega.Equal(uid))
	l.manager("cm", "x/of-b", "ub")
	// One that it has declared goes with all that is in it, as in Config Sync, and others make it again.
	l.synced("ua", l.commit("ua", "x.yaml", ns("z")))
	l.manager("ns", "y", "ub")
	l.manager("cm", "y/of-b", "ub")

	// With claims again nothing changes: what is written on a Namespace says the same.
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	l.calm()
	l.Eventually(func() string { return l.status("ua") }, within, often).Should(gomega.HavePrefix("synced "))
	l.manager("ns", "z", "ua")
	l.manager("ns", "y", "ub")
	l.manager("cm", "y/of-b", "ub")
}

// holder is the process that leads.
func (l *ledger) holder() string {
	lease := &coordinationv1.Lease{}
	l.Expect(l.Client.Get(l.t.Context(), client.ObjectKey{Namespace: manager.Namespace, Name: "holdfast-sync"}, lease)).To(gomega.Succeed())
	return *lease.Spec.HolderIdentity
}

// leases has others start, and start again, while one holds the lease.
func (l *ledger) leases() {
	lease := []string{"--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s", "--leader-elect-retry-period=1s"}
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(lease...)
	leader := l.Sync
	l.syncOf("la", ns("le")+cm("le", "one", "1"))
	before := l.calm()
	for range 2 {
		l.start(lease...)
		l.Expect(l.Sync.Ready(l.t.Context())).To(gomega.Succeed())
		l.synced("la", l.commit("la", "x.yaml", ns("le")+cm("le", "one", "1")))
		if l.Sync != leader {
			l.calm()
		}
		wrote := slices.DeleteFunc(l.writes()[before:], func(w string) bool { return !strings.Contains(w, " configmaps ") })
		l.Expect(wrote).To(gomega.BeEmpty(), "who does not lead looks at no object")
		l.Expect(l.Sync.Stop()).To(gomega.Succeed())
	}
	// Who leads dies while another waits: that one goes on where it was.
	l.start(lease...)
	holder := l.holder()
	l.Expect(leader.Kill()).To(gomega.Succeed())
	l.Eventually(l.holder, "180s", often).ShouldNot(gomega.Equal(holder)) // the lease has to run out
	commit := l.commit("la", "x.yaml", ns("le")+cm("le", "one", "2"))
	l.synced("la", commit)
	l.value("le/one", "2")
	l.Expect(l.Sync.Stop()).To(gomega.Succeed())
	l.start(leaderless)
}

// beside has Config Sync be installed while RootSyncs are followed.
func (l *ledger) beside() {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: reconciler-manager, namespace: config-management-system}
spec:
  replicas: 1
  selector: {matchLabels: {app: r}}
  template: {metadata: {labels: {app: r}}, spec: {containers: [{name: c, image: nothing.invalid/c}]}}
`
	l.Apply(l.t, "", deployment)
	l.Eventually(l.Sync.Done(), within).Should(gomega.BeClosed())
	l.Expect(l.Sync.Ended()).To(gomega.HaveOccurred())
	l.Expect(l.Sync.LogTail()).To(gomega.ContainSubstring("refuse to run beside Config Sync"))
	l.Expect(l.Kubectl(l.t, "delete", "deployment", "reconciler-manager", "-n", object.SyncNamespace).Code).To(gomega.Equal(0))
	l.start(leaderless)
}
