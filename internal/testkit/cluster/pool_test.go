// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// mess is what no test should leave behind: all of it would be in the way of a usual clean-up.
const mess = `
apiVersion: v1
kind: Namespace
metadata: {name: held, finalizers: [example.org/never]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: held, finalizers: [example.org/never]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: pods, namespace: default}
spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: service, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everybody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: anybody}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {plural: things, singular: thing, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.gone.example.org}
spec: {group: gone.example.org, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: gone, namespace: default}}
`

// refusals are applied last: nothing can be made after them.
const refusals = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: never}
spec: {policyName: never, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: never}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]}
  validations: [{expression: "false", message: never}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: never}
webhooks:
- name: never.example.org
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
`

func TestReset_makesTheClusterWhatItWas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := start(t, Options{})
	clients := client(t, c)
	before := everything(t, c)

	for range 2 { // whoever resets the second time finds what the first one left
		makeMess(t, c)
		g.Eventually(func() (int, error) { // controllers are at work
			pods, err := clients.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			return len(pods.Items), err
		}, soon, often).Should(Equal(3))
		g.Expect(clients.CoreV1().Namespaces().Delete(t.Context(), "kube-node-lease", metav1.DeleteOptions{})).To(Succeed())
		g.Expect(clients.RbacV1().ClusterRoles().Delete(t.Context(), "cluster-admin", metav1.DeleteOptions{})).To(Succeed())
		_, err := clients.RbacV1().ClusterRoles().Patch(t.Context(), "view", types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}},"aggregationRule":null,"rules":[]}`), metav1.PatchOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		said, code := kubectlInput(t, c, refusals, "apply", "-f", "-")
		g.Expect(code).To(BeZero(), said)
		g.Eventually(func() error {
			_, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("refused"), metav1.CreateOptions{DryRun: []string{"All"}})
			return err
		}, soon, often).Should(MatchError(ContainSubstring("never")))

		ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
		g.Expect(c.Reset(ctx)).To(Succeed())
		cancel()
		// At once, and not after a while: the next test begins here.
		_, err = clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("welcome"), metav1.CreateOptions{DryRun: []string{"All"}})
		g.Expect(err).NotTo(HaveOccurred())
		if diff := cmp.Diff(before, everything(t, c)); diff != "" {
			t.Errorf("(-new +reset):\n%s", diff)
		}
	}
}

func TestReset_startsAnAPIServerThatWasStopped(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	if err := c.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, c).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func makeMess(t *testing.T, c *Cluster) {
	t.Helper()
	if said, code := kubectlInput(t, c, mess, "apply", "-f", "-"); code != 0 {
		t.Fatal(said)
	}
	NewWithT(t).Eventually(func() string {
		said, _ := kubectlInput(t, c, "{apiVersion: example.org/v1, kind: Thing, metadata: {name: one, finalizers: [example.org/never]}}", "apply", "-f", "-")
		return said
	}, soon, often).Should(ContainSubstring("thing.example.org/one created"))
}

// everything is what is there of every kind, without what each write changes.
func everything(t *testing.T, c *Cluster) map[string]string {
	t.Helper()
	config, err := c.RestConfig()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := client(t, c).Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	listable, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists))
	if err != nil {
		t.Fatal(err)
	}
	for resource := range listable {
		if resource.Resource == "leases" || resource.Resource == "events" {
			continue // components write them at any time
		}
		found, err := objects.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil && !apierrors.IsMethodNotSupported(err) {
			t.Fatalf("list %s: %v", resource, err)
		}
		for _, o := range found.Items {
			o.SetResourceVersion("")
			o.SetManagedFields(nil)
			out[fmt.Sprintf("%s %s/%s", resource.GroupResource(), o.GetNamespace(), o.GetName())] = fmt.Sprint(o.Object)
		}
	}
	return out
}

// newPool is a pool of a test's own, by its socket.
func newPool(t *testing.T, limit int) (p *Pool, dial func() *lease) {
	t.Helper()
	p, err := NewPool(t.Context(), limit, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "pool"))
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(l)
	t.Cleanup(func() {
		_ = l.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, func() *lease {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return newLease(conn)
	}
}

// borrow takes a cluster, within the test's time.
func borrow(t *testing.T, l *lease, o Options) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	c, err := l.borrow(ctx, t.Name(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, dial := newPool(t, 1)

	first := borrow(t, dial(), Options{})
	_, err := client(t, first).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("left"), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())

	t.Run("a second borrower waits for as long as the first has it", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if c, err := dial().borrow(ctx, "second", Options{}); err == nil {
			t.Errorf("it has %s", c.Server)
		}
	})
	t.Run("and then has the same control plane, as new", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(first.Stop()).To(Succeed())
		second := borrow(t, dial(), Options{})
		g.Expect(second.Server).To(Equal(first.Server))
		_, err := client(t, second).CoreV1().ConfigMaps("default").Get(t.Context(), "left", metav1.GetOptions{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		g.Expect(p.Counts()).To(And(HaveField("Starts", 1), HaveField("Leases", 2)))

		g.Expect(second.RestartAPIServer(t.Context())).To(Succeed())
		resume, err := second.PauseAPIServer()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(resume()).To(Succeed())
		g.Expect(second.Stop()).To(Succeed())
	})
	t.Run("who wants options has another one, beside it, and in the place of one with other options", func(t *testing.T) {
		g := NewWithT(t)
		for i, config := range []string{"coordination.k8s.io/v1beta1=true", "coordination.k8s.io/v1beta1=true", "coordination.k8s.io/v1alpha2=true"} {
			other := borrow(t, dial(), Options{RuntimeConfig: []string{config}})
			g.Expect(other.Server).NotTo(Equal(first.Server))
			g.Expect(p.Counts().Starts).To(Equal(2 + i/2))
			g.Expect(other.Stop()).To(Succeed())
		}
	})
	t.Run("what a borrower leaves who ends without a word is not lent again", func(t *testing.T) {
		g := NewWithT(t)
		l := dial()
		lost := borrow(t, l, Options{})
		g.Expect(l.conn.Close()).To(Succeed())
		next := borrow(t, dial(), Options{})
		g.Expect(next.Server).NotTo(Equal(lost.Server))
		g.Expect(p.Counts().Discarded).To(Equal(1))
		g.Expect(next.Stop()).To(Succeed())
	})
}

func TestPool_optionsThatCannotStart(t *testing.T) {
	t.Parallel()
	p, dial := newPool(t, 1)
	_, err := dial().borrow(t.Context(), t.Name(), Options{APIServerArgs: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("got %v", err)
	}
	c := borrow(t, dial(), Options{})
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if got := p.Counts(); got.Leases != 2 {
		t.Errorf("%+v", got)
	}
}
