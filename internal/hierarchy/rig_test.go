// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// rig is a cluster in which Holdfast keeps trees, with namespaces of one test.
type rig struct {
	*testkit.Env
	*gomega.WithT
	t testing.TB
	// prefix begins the names of the namespaces.
	prefix string
}

func shared(t testing.TB) *rig {
	t.Helper()
	e := testkit.Shared(t)
	return &rig{Env: e, WithT: gomega.NewWithT(t), t: t, prefix: e.Namespace(t)}
}

// name of a namespace that the test calls something short.
func (r *rig) name(short string) string { return r.prefix + "-" + short }

// names makes namespaces, each as "name" or "name<parent"; a parent comes before
// those below it.
func (r *rig) tree(text string) {
	r.t.Helper()
	var yaml []string
	for part := range strings.FieldsSeq(text) {
		name, parent, _ := strings.Cut(part, "<")
		yaml = append(yaml, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {holdfast.dev/testkit: made}}}", r.name(name)))
		if parent != "" {
			yaml = append(yaml, r.hierarchy(name, parent))
		}
	}
	r.Apply(r.t, "", strings.Join(yaml, "\n---\n"))
}

// hierarchy is a HierarchyConfiguration.
func (r *rig) hierarchy(name, parent string) string {
	return fmt.Sprintf("{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: %s}, spec: {parent: %s}}",
		r.name(name), r.name(parent))
}

// labels are the depths in the tree labels of a namespace, as "a=1 b=0".
func (r *rig) labels(short string) func() string {
	return func() string {
		ns := &corev1.Namespace{}
		if err := r.Client.Get(r.t.Context(), client.ObjectKey{Name: r.name(short)}, ns); err != nil {
			return err.Error()
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(ns.Labels)) {
			if above, is := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix); is {
				out = append(out, strings.TrimPrefix(above, r.prefix+"-")+"="+ns.Labels[key])
			}
		}
		return strings.Join(out, " ")
	}
}

// field reads a field of an object.
func (r *rig) field(path string, args ...string) func() string {
	return func() string {
		out := r.Kubectl(r.t, append([]string{"get", "-o", "jsonpath=" + path}, args...)...)
		if out.Code != 0 {
			return "error: " + out.Stderr
		}
		return out.Stdout
	}
}

// configured are the arguments of a manager with a configuration of its own.
func configured(t testing.TB, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config.Empty+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", file, "--config-map", ""}
}
