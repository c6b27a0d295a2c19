// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// A user keeps what "kubectl get -o yaml" prints, marks included, and applies it later, to the same object and to others.
func TestTogether_kubectlApplyOfWhatKubectlGets(t *testing.T) {
	t.Parallel()
	r := shared(t)
	protection := `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{p}"}, spec: {reason: data, protectedResources: [
		{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: "{p}", name: one}, {apiVersion: v1, kind: ConfigMap, namespace: "{p}", name: two}]}]}}`
	r.Apply(ns("p") + role("p", "view", "get") + cm("p", "one", "1") + cm("p", "two", "2"))
	r.Apply(protection)
	r.Apply(anchor("p", "s"))
	r.See("role view -n {s}"+verbs, "get")
	marks := func(object string) string {
		return r.Run("get " + object + ` -o jsonpath={.metadata.labels.holdfast\.dev/marked},{.metadata.labels.holdfast\.dev/protected-by},{.metadata.labels.holdfast\.dev/holds-protected}`).Stdout
	}
	for _, name := range []string{"one", "two"} {
		r.See(`cm `+name+` -n {p} -o jsonpath={.metadata.labels.holdfast\.dev/protected-by}`, "{p}")
	}
	r.See(`ns {p} -o jsonpath={.metadata.labels.holdfast\.dev/holds-protected}`, "true")
	kept := func(object string) string {
		r.T.Helper()
		out := r.Run("get -o yaml " + object)
		if out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		return out.Stdout
	}
	file := filepath.Join(t.TempDir(), "kept.yaml")
	apply := func(yaml, options string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := r.Run("apply " + options + " -f " + file); out.Code != 0 {
			t.Errorf("kubectl apply %s: %s\n%s", options, out.Stderr, yaml)
		}
	}

	for _, object := range []string{"cm one -n {p}", "ns {p}", "ns {s}"} {
		was := marks(object)
		for _, options := range []string{"", "--server-side --force-conflicts"} {
			apply(withoutUID(kept(object)), options)
		}
		if diff := gocmp.Diff(was, marks(object)); diff != "" {
			t.Errorf("marks of %s (-before +after)\n%s", object, diff)
		}
	}
	// A user may not annotate a copy, which a client-side apply does.
	apply(kept("role view -n {s}"), "--server-side --force-conflicts")

	one, two := kept("cm one -n {p}"), marks("cm two -n {p}")
	apply(strings.ReplaceAll(withoutUID(one), "name: one", "name: two"), "--force-conflicts --server-side")
	if diff := gocmp.Diff(two, marks("cm two -n {p}")); diff != "" {
		t.Errorf("marks of an object that another one is applied to (-before +after)\n%s", diff)
	}
	apply(strings.ReplaceAll(withoutUID(one), "name: one", "name: three"), "")
	r.Eventually(func() string { return marks("cm three -n {p}") }, story.Patience, story.Often).Should(gomega.Equal(",,"))
	r.done("delete cm three -n {p}")

	// The protection is gone, and so are the marks when the file is applied again.
	r.done("delete rdp {p}")
	r.Eventually(func() string { return marks("cm one -n {p}") }, story.Patience, story.Often).Should(gomega.Equal(",,"))
	apply(withoutUID(one), "--server-side --force-conflicts")
	if got := marks("cm one -n {p}"); got != ",," {
		t.Errorf("an old manifest has set the marks %s", got)
	}
	r.done("delete cm one -n {p}")
}

// withoutUID removes what identifies an object and its version from a manifest, which users do before they apply it.
func withoutUID(yaml string) string {
	var out strings.Builder
	for line := range strings.Lines(yaml) {
		if key := strings.TrimSpace(line); !strings.HasPrefix(key, "uid:") && !strings.HasPrefix(key, "resourceVersion:") {
			out.WriteString(line)
		}
	}
	return out.String()
}
