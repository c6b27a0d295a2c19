// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	hncNamespace  = "hnc-system"
	hncDeployment = "hnc-controller-manager"
)

// hnc is one that stands in a cluster as HNC 1.1 does, and does nothing.
type hnc struct{ actor }

// manifest is a file of testdata/adopt.
func manifest(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "adopt", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// apply applies as people do, from the client's side.
func (h *hnc) apply(text string) {
	h.t.Helper()
	if out := h.KubectlInput(h.t, text, "apply", "-f", "-"); out.Code != 0 {
		h.t.Fatalf("apply: %s", out.Stderr)
	}
}

// applyServerSide leaves no annotation behind.
func (h *hnc) applyServerSide(text string) {
	h.t.Helper()
	if out := h.KubectlInput(h.t, text, "apply", "--server-side", "-f", "-"); out.Code != 0 {
		h.t.Fatalf("apply: %s", out.Stderr)
	}
}

// copies are the objects that HNC copies, with their source.
func copies(source string, into ...string) string {
	content := map[string]string{
		"Role":        "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]",
		"RoleBinding": "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: shared}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]",
		"Secret":      "type: Opaque, data: {key: dmFsdWU=}",
	}
	versions := map[string]string{"Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1", "Secret": "v1"}
	var out []string
	for _, kind := range []string{"Role", "RoleBinding", "Secret"} {
		for _, ns := range append([]string{source}, into...) {
			labels := ""
			if ns != source {
				labels = fmt.Sprintf(", labels: {hnc.x-k8s.io/inherited-from: %s, app.kubernetes.io/managed-by: hnc.x-k8s.io}", source)
			}
			out = append(out, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: shared, namespace: %s%s}, %s}", versions[kind], kind, ns, labels, content[kind]))
		}
	}
	return strings.Join(out, "\n---\n")
}

// install makes HNC with a tree.
func install(t testing.TB, e *testkit.Env) *hnc {
	t.Helper()
	h := &hnc{newActor(t, e)}
	h.apply(manifest(t, "crds.yaml"))
	h.established("crd", "--all")
	h.apply(manifest(t, "controller.yaml"))
	h.applyServerSide(manifest(t, "trees.yaml"))
	h.applyServerSide(copies("acme", "team-a", "team-b"))
	return h
}

// webhooks makes those of HNC: for real, or for objects that nobody has.
func (h *hnc) webhooks(forReal bool) {
	h.t.Helper()
	where := "{matchLabels: {example.com/never: \"true\"}}"
	if forReal {
		where = "{}"
	}
	h.applyServerSide(strings.ReplaceAll(manifest(h.t, "webhooks.yaml"), "WHERE", where))
}

// kubelet makes the pods of HNC ready, until it is stopped.
func (h *hnc) kubelet() (stop func()) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; {
			var pods corev1.PodList
			_ = h.Client.List(ctx, &pods, client.InNamespace(hncNamespace)) // next time, if not now
			for i := range pods.Items {
				p := &pods.Items[i]
				if p.Status.PodIP != "" {
					continue
				}
				n++
				p.Status.Phase = corev1.PodRunning
				p.Status.PodIP = fmt.Sprintf("10.1.2.%d", n)
				p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				_ = h.Client.Status().Update(ctx, p)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	stop = func() {
		cancel()
		done.Wait()
	}
	h.t.Cleanup(stop)
	return stop
}

// ready waits until HNC has its pods.
func (h *hnc) ready() {
	h.t.Helper()
	h.Eventually(func() string {
		return h.run("get", "deployment", hncDeployment, "-n", hncNamespace, "-o", "jsonpath={.status.readyReplicas}")
	}, patience, often).Should(gomega.Equal("2"))
}

// endpoints makes one that answers for HNC, as far as it shows.
func (h *hnc) endpoints() {
	h.t.Helper()
	h.applyServerSide(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: hnc, namespace: hnc-system, labels: {kubernetes.io/service-name: hnc-webhook-service}},
		addressType: IPv4, endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}}]}`)
}

// versions are the resource versions of all objects of the trees, by their names.
func (h *hnc) versions() map[string]string {
	h.t.Helper()
	out := map[string]string{}
	const lines = `jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`
	text := h.run("get", "hierarchyconfigurations,subnamespaceanchors,hncconfigurations,hierarchicalresourcequotas,roles,rolebindings,secrets", "-A", "-o", lines) +
		h.run("get", "namespaces", "-o", lines)
	for line := range strings.Lines(text) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(name, "/holdfast-system") && !strings.Contains(name, "/kube-") {
			out[name] = version
		}
	}
	return out
}
