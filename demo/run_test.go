// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

func TestRun_theWholeStoryComesOutAsExpected(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out bytes.Buffer
	d := demo{out: &out, progress: os.Stderr}
	if err := d.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	mustBeWhole(t, out.String(), story(place{namespace: localNamespace, local: true}))
	mustBeEmpty(t, temp)
}

// Somebody's cluster is as it was after the story, and one with a Holdfast of
// somebody's is not touched.
func TestRun_leavesAnExistingClusterAsItWas(t *testing.T) {
	long(t)
	t.Parallel()
	c, err := cluster.Lease(t.Context(), t.Name(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubectl := func(args ...string) string {
		t.Helper()
		said, err := manager.Kubectl(t.Context(), c, args...)
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	const everything = "namespaces,configmaps,secrets,services,deployments,crds,clusterroles,clusterrolebindings,roles,rolebindings," +
		"validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations,mutatingwebhookconfigurations"
	// Names like those of the story on a local cluster.
	kubectl("create", "namespace", localNamespace)
	kubectl("create", "configmap", "scratch", "-n", localNamespace)
	kubectl("wait", "--for=create", "configmap/kube-root-ca.crt", "-n", localNamespace)
	list := func() string {
		return kubectl("get", everything, "-A", "-o", "name") +
			kubectl("get", "namespaces", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.labels} {.metadata.annotations}{"\n"}{end}`)
	}
	before := list()

	var out bytes.Buffer
	d := demo{out: &out, progress: os.Stderr, kubeconfig: c.Kubeconfig}
	if err := d.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	mustBeWhole(t, out.String(), story(place{namespace: localNamespace}))
	if diff := cmp.Diff(before, list()); diff != "" {
		t.Errorf("the cluster is not as it was (-before +after):\n%s", diff)
	}

	for _, theirs := range [][]string{{"namespace", "holdfast-system"}, {"clusterrole", "holdfast-anchor", "--verb=get", "--resource=pods"}} {
		kubectl(append([]string{"create"}, theirs...)...)
		before := list()
		for name, command := range map[string]func() error{
			"run":   func() error { return d.run(t.Context()) },
			"serve": func() error { d.dir = t.TempDir(); return d.serve(t.Context()) },
		} {
			out.Reset()
			err := command()
			if err == nil || !strings.Contains(err.Error(), theirs[1]) || !strings.Contains(err.Error(), "take another cluster") {
				t.Errorf("%s: error = %v, want one that names what is there and the remedy", name, err)
			}
			if out.Len() > 0 {
				t.Errorf("%s began the story:\n%s", name, &out)
			}
		}
		if diff := cmp.Diff(before, list()); diff != "" {
			t.Errorf("the cluster is not as it was (-before +after):\n%s", diff)
		}
		kubectl("delete", theirs[0], theirs[1])
	}
	mustLeaveTreesAlone(t, c, kubectl)
}

// mustLeaveTreesAlone wants the chapter about trees to be left out where there is
// anything of somebody's.
func mustLeaveTreesAlone(t *testing.T, c *cluster.Cluster, kubectl func(...string) string) {
	t.Helper()
	for what, commands := range map[string][2][]string{
		"hierarchyconfigurations.hnc.x-k8s.io": {
			{"create", "-f", "config/crd/hnc/hnc.x-k8s.io_hierarchyconfigurations.yaml"},
			{"delete", "crd", "hierarchyconfigurations.hnc.x-k8s.io"},
		},
		"holdfast-guard-hierarchy": {{"create", "-f", "config/rbac/hierarchy.yaml"}, {"delete", "-f", "config/rbac/hierarchy.yaml"}},
		"namespace/" + localNamespace: {
			{"label", "namespace", localNamespace, "above.tree.hnc.x-k8s.io/depth=1"},
			{"label", "namespace", localNamespace, "above.tree.hnc.x-k8s.io/depth-"},
		},
	} {
		kubectl(commands[0]...)
		s := &stage{}
		if err := s.take(t.Context(), c.Kubeconfig); err != nil {
			t.Fatal(err)
		}
		if told := trees(s.place()); len(told.steps) > 0 || !strings.Contains(told.about, what) {
			t.Errorf("with %s on the cluster the chapter has %d steps, and says %q", what, len(told.steps), told.about)
		}
		kubectl(commands[1]...)
	}
}

// mustBeWhole looks at the output of a story that came out as expected.
func mustBeWhole(t *testing.T, out string, told []chapter) {
	t.Helper()
	steps := 0
	for _, c := range told {
		steps += len(c.steps)
		if !strings.Contains(out, "=== "+c.title) || !strings.Contains(out, c.about) {
			t.Errorf("the chapter %q was not told", c.title)
		}
	}
	if want := fmt.Sprintf("All %d steps came out as expected.", steps); !strings.Contains(out, want) {
		t.Errorf("the output has no %q:\n%s", want, out)
	}
	if rows := strings.Count(out, " yes "); rows < steps {
		t.Errorf("the table has %d rows of steps that came out as expected, want %d:\n%s", rows, steps, out)
	}
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
