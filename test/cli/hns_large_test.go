// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	// large is how many namespaces the large tree has, and wide how many are below
	// each as long as there are any: n0000 has n0001 to n0010, n0001 has n0011 to
	// n0020, and so on.
	large = 1000
	wide  = 10

	namespacesPath  = "GET /api/v1/namespaces"
	hierarchiesPath = "GET /apis/hnc.x-k8s.io/v1alpha2/hierarchyconfigurations"
)

func nth(i int) string { return fmt.Sprintf("n%04d", i) }

func makeLargeTree(t *testing.T, env *testkit.Env) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range large {
		group.Go(func() error { return makeMember(ctx, env.Client, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func makeMember(ctx context.Context, c client.Client, i int) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: nth(i), Labels: map[string]string{}}}
	for above, depth := i, 0; ; above, depth = (above-1)/wide, depth+1 {
		ns.Labels[nth(above)+hncv1alpha2.LabelTreeDepthSuffix] = strconv.Itoa(depth)
		if above == 0 {
			break
		}
	}
	h := &hncv1alpha2.HierarchyConfiguration{ObjectMeta: metav1.ObjectMeta{Name: hncv1alpha2.HierarchyConfigurationName, Namespace: nth(i)}}
	if i > 0 {
		h.Spec.Parent = nth((i - 1) / wide)
		ns.Annotations = map[string]string{hncv1alpha2.AnnotationSubnamespaceOf: h.Spec.Parent}
	}
	for child := i*wide + 1; child <= i*wide+wide && child < large; child++ {
		h.Status.Children = append(h.Status.Children, nth(child))
	}
	if err := c.Create(ctx, ns); err != nil {
		return err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(h)
	if err != nil {
		return err
	}
	served := &unstructured.Unstructured{Object: object}
	served.SetGroupVersionKind(hncv1alpha2.GroupVersion.WithKind("HierarchyConfiguration"))
	return c.Create(ctx, served)
}

// drawn is the tree below a namespace of the large one.
func drawn(i int) string {
	var b strings.Builder
	b.WriteString(nth(i) + "\n")
	var below func(prefix string, i int)
	below = func(prefix string, i int) {
		last := min(i*wide+wide, large-1)
		for child := i*wide + 1; child <= last; child++ {
			branch, under := "├── ", "│   "
			if child == last {
				branch, under = "└── ", "    "
			}
			b.WriteString(prefix + branch + "[s] " + nth(child) + "\n")
			below(prefix+under, child)
		}
	}
	below("", i)
	return b.String() + "\n[s] indicates subnamespaces\n"
}

// testLargeTree counts the requests that a tree of 1,000 namespaces takes.
func testLargeTree(t *testing.T, env *testkit.Env) {
	const handful = 6 // three pages of each, since other namespaces are listed too
	for _, args := range [][]string{{"tree", nth(0)}, {"tree", "-A"}} {
		r := callHNS(t.Context(), t, env, "", args...)
		if r.err != nil || r.errOut.String() != "" {
			t.Fatalf("%v: %v %s", args, r.err, &r.errOut)
		}
		if n := r.requests.count(); n > handful || n != r.requests.count(namespacesPath, hierarchiesPath) {
			t.Errorf("%v took %d requests:\n%s", args, n, &r.requests)
		}
		if args[1] == "-A" {
			if tree, _, _ := strings.Cut(drawn(0), "\n\n"); !strings.Contains(r.out.String(), "\n"+tree+"\n") {
				t.Errorf("%v does not have the tree", args)
			}
		} else if diff := cmp.Diff(drawn(0), r.out.String()); diff != "" {
			t.Errorf("%v (-want +got)\n%s", args, diff)
		}
	}
}

// tenant may read some namespaces of the large tree and nothing else.
const tenant = "tenant"

func letTenant(t *testing.T, env *testkit.Env, namespaces ...string) {
	t.Helper()
	for _, ns := range namespaces {
		env.Grant(t, ns, tenant,
			testkit.Rule("", []string{"namespaces"}, "get"),
			testkit.Rule(hncv1alpha2.GroupName, []string{hncv1alpha2.ResourceHierarchyConfigurations}, "get"),
			testkit.Rule("", []string{"limitranges"}, "list", "watch"))
	}
}

// testNarrowRights is for somebody who may read n0010 and all below it but the last.
func testNarrowRights(t *testing.T, env *testkit.Env) {
	names := []string{nth(10)}
	for i := 101; i < 110; i++ {
		names = append(names, nth(i))
	}
	letTenant(t, env, names...)
	for _, ns := range []string{nth(10), nth(105), nth(110)} {
		makeLimit(t, env, ns, "limit")
	}

	r := callHNS(t.Context(), t, env, tenant, "tree", nth(10))
	// Whether the last is a subnamespace is not known.
	if diff := cmp.Diff(strings.Replace(drawn(10), "[s] n0110", "n0110", 1), r.out.String()); diff != "" {
		t.Errorf("tree (-want +got)\n%s", diff)
	}
	if r.err == nil || !strings.Contains(r.errOut.String(), "Error reading namespace n0110: namespaces \"n0110\" is forbidden") {
		t.Errorf("the namespace that cannot be read is not named: %v, %s", r.err, &r.errOut)
	}
	// Two lists that are refused, and two objects of each namespace but the last.
	if got, want := r.requests.count(), 2+2*len(names)+1; got != want {
		t.Errorf("tree took %d requests, want %d:\n%s", got, want, &r.requests)
	}

	r = callHNS(t.Context(), t, env, tenant, "tree", nth(0))
	if want := "Error reading namespace n0000: namespaces \"n0000\" is forbidden"; r.err == nil || !strings.HasPrefix(r.out.String(), want) {
		t.Errorf("got %v, %q", r.err, &r.out)
	}
	r = callHNS(t.Context(), t, env, tenant, "tree", "-A")
	if want := "Could not list namespaces: namespaces is forbidden"; r.err == nil || !strings.HasPrefix(r.out.String(), want) {
		t.Errorf("got %v, %q", r.err, &r.out)
	}
	const lister = "lister"
	env.Grant(t, "", lister, testkit.Rule("", []string{"namespaces"}, "list"))
	r = callHNS(t.Context(), t, env, lister, "tree", "-A")
	if r.err == nil || strings.Count(r.errOut.String(), "Error reading hierarchy for ") != 3 || !strings.Contains(r.errOut.String(), " more namespaces could not be read") {
		t.Errorf("got %v, %s", r.err, &r.errOut)
	}
	r = callHNS(t.Context(), t, env, tenant, "describe", nth(10))
	if want := "Hierarchy configuration for namespace n0010\nError listing subnamespace anchors for n0010: "; r.err == nil || !strings.HasPrefix(r.out.String(), want) {
		t.Errorf("got %v, %q", r.err, &r.out)
	}
	r = callHNS(t.Context(), t, env, tenant, "set", nth(10), "--root")
	if want := "Unsetting the parent of n0010 (was previously n0000)\n\nCould not update the hierarchical configuration of n0010.\nReason: "; r.err == nil || !strings.HasPrefix(r.out.String(), want) {
		t.Errorf("got %v, %q", r.err, &r.out)
	}

	r = callHNS(t.Context(), t, env, tenant, "get", "limitranges", "-n", nth(10))
	if diff := cmp.Diff([]string{nth(10), nth(105)}, firstColumn(r.out.String())); diff != "" {
		t.Errorf("get (-want +got)\n%s", diff)
	}
	if said := r.errOut.String(); r.err == nil || !strings.Contains(said, "what is below n0110 is not known") || !strings.Contains(said, "in namespace n0110: limitranges is forbidden") {
		t.Errorf("the namespace that cannot be listed is not named: %v, %s", r.err, said)
	}
}

func makeLimit(t *testing.T, env *testkit.Env, namespace, name string) {
	t.Helper()
	limit := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	if err := env.Client.Create(t.Context(), limit); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// firstColumn is that of a table, without its header.
func firstColumn(table string) (out []string) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for _, line := range lines[1:] {
		out = append(out, strings.Fields(line)[0])
	}
	return out
}

// testGet looks at which lists get makes.
func testGet(t *testing.T, env *testkit.Env) {
	const all = "GET /api/v1/limitranges"
	r := callHNS(t.Context(), t, env, "", "get", "limitranges", "-n", nth(0))
	if diff := cmp.Diff([]string{nth(10), nth(105), nth(110)}, firstColumn(r.out.String())); diff != "" || r.err != nil {
		t.Errorf("get: %v (-want +got)\n%s", r.err, diff)
	}
	if n := r.requests.count(all); n != 1 || r.requests.count() != n+r.requests.count(namespacesPath) {
		t.Errorf("few objects of many namespaces are in one list, but there were\n%s", &r.requests)
	}

	// There is a ConfigMap in each namespace: more pages than it takes requests to
	// ask eleven namespaces side by side.
	gomega.NewWithT(t).Eventually(func() (int, error) {
		var list corev1.ConfigMapList
		err := env.Client.List(t.Context(), &list)
		in := slices.DeleteFunc(list.Items, func(m corev1.ConfigMap) bool { return m.Namespace < nth(0) || m.Namespace >= nth(large) })
		return len(in), err
	}, patience, often).Should(gomega.Equal(large))
	r = callHNS(t.Context(), t, env, "", "get", "configmaps", "-n", nth(10))
	if got := len(firstColumn(r.out.String())); got != wide+1 || r.err != nil {
		t.Errorf("got %d rows, want %d: %v", got, wide+1, r.err)
	}
	if n := r.requests.count(); n != 1+1+wide+1 || r.requests.count(namespacesPath) != 1 {
		t.Errorf("many objects in the cluster and few in the tree are listed by namespace, but there were\n%s", &r.requests)
	}
	r = callHNS(t.Context(), t, env, "", "get", "configmaps", "-n", nth(0))
	if got := len(firstColumn(r.out.String())); got != large || r.err != nil {
		t.Errorf("got %d rows, want %d: %v", got, large, r.err)
	}

	// Who may list the namespaces but not the whole cluster's objects.
	const reader = "reader"
	env.Grant(t, "", reader, testkit.Rule("", []string{"namespaces"}, "list"))
	env.Grant(t, nth(10), reader, testkit.Rule("", []string{"limitranges"}, "list"))
	r = callHNS(t.Context(), t, env, reader, "get", "limitranges", "-n", nth(10))
	if diff := cmp.Diff([]string{nth(10)}, firstColumn(r.out.String())); diff != "" || r.err == nil {
		t.Errorf("get: %v (-want +got)\n%s", r.err, diff)
	}
	if n := strings.Count(r.errOut.String(), "is forbidden"); n != wide {
		t.Errorf("%d namespaces are named, want %d:\n%s", n, wide, &r.errOut)
	}
}

// testAlone follows a namespace that is in no tree. HNC's last sources followed the
// whole cluster then, with rights of their own.
func testAlone(t *testing.T, env *testkit.Env) {
	const alone = "in-no-tree"
	g := gomega.NewWithT(t)
	if err := env.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: alone}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, done := &hnsCall{}, make(chan struct{})
	cache := t.TempDir()
	go func() {
		defer close(done)
		r.call(ctx, env, cache, "", "get", "limitranges", "-w", "-n", alone)
	}()
	for _, name := range []string{"first", "last"} {
		makeLimit(t, env, alone, name)
		g.Eventually(r.out.String, patience, often).Should(gomega.MatchRegexp(`(?m)^%s +%s +`, alone, name))
		makeLimit(t, env, "default", "elsewhere-alone")
	}
	cancel()
	<-done
	if strings.Contains(r.out.String(), "elsewhere") || r.requests.count("GET /api/v1/limitranges") != 0 {
		t.Errorf("it is not followed alone:\n%s\n%s", &r.out, &r.requests)
	}
}

// testWatch follows objects and namespaces: of a few namespaces by a watch each,
// of many by one for the cluster.
func testWatch(t *testing.T, env *testkit.Env) {
	for _, tt := range []struct{ name, root, below, joining, user string }{
		{"a small tree", nth(10), nth(107), "joins-small", ""},
		{"a large tree", nth(0), nth(555), "joins-large", ""},
		{"a tree that is known by its objects alone", nth(10), nth(106), "", tenant},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			ctx, cancel := context.WithCancel(t.Context())
			r, done, cache := &hnsCall{}, make(chan struct{}), t.TempDir()
			go func() {
				defer close(done)
				r.call(ctx, env, cache, tt.user, "get", "limitranges", "-w", "-n", tt.root)
			}()
			shows := func(ns, name string) {
				t.Helper()
				g.Eventually(r.out.String, patience, often).Should(gomega.MatchRegexp(`(?m)^%s +%s +`, ns, name))
			}
			shows(nth(105), "limit")
			makeLimit(t, env, tt.below, "new")
			shows(tt.below, "new")
			if tt.joining != "" {
				ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tt.joining}}
				if err := env.Client.Create(t.Context(), ns); err != nil {
					t.Fatal(err)
				}
				makeLimit(t, env, tt.joining, "before")
				label := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:"1"}}}`, tt.root+hncv1alpha2.LabelTreeDepthSuffix))
				if err := env.Client.Patch(t.Context(), ns, label); err != nil {
					t.Fatal(err)
				}
				shows(tt.joining, "before")
				makeLimit(t, env, tt.joining, "after")
				shows(tt.joining, "after")
				label = client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, tt.root+hncv1alpha2.LabelTreeDepthSuffix))
				if err := env.Client.Patch(t.Context(), ns, label); err != nil {
					t.Fatal(err)
				}
			}
			makeLimit(t, env, "default", "elsewhere-"+tt.below)
			makeLimit(t, env, tt.root, "end-"+tt.below)
			shows(tt.root, "end-"+tt.below)
			cancel()
			<-done
			if tt.user == "" && r.err != nil {
				t.Errorf("the watch ended with %v", r.err)
			}
			if strings.Contains(r.out.String(), "elsewhere") {
				t.Errorf("an object outside of the tree is shown:\n%s", &r.out)
			}
			if n := strings.Count(r.out.String(), "NAMESPACE"); n != 1 {
				t.Errorf("there are %d headers:\n%s", n, &r.out)
			}
		})
	}
}
