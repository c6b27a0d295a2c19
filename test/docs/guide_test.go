// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// TestGuide_protect follows the guide from its top to its end, which leaves nothing behind. It is not parallel: other tests
// make the namespace of the guide, for manifests that they try there.
func TestGuide_protect(t *testing.T) {
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	guide, reader := page.Read(t, "docs/guides/protect.md"), e.Reader(t)
	save := func(name, section string) {
		if err := os.WriteFile(filepath.Join(reader.Dir, name), []byte(guide.YAML(t, section)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// passes waits for what the API server's authorizer, or Holdfast, does a moment later.
	passes := func(args ...string) {
		t.Helper()
		g.Eventually(func() string {
			if out := e.Kubectl(t, args...); out.Code != 0 {
				return out.Stdout + out.Stderr
			}
			return ""
		}, "180s", "100ms").Should(gomega.BeEmpty())
	}
	const rights, together, previews = "Let somebody unprotect", "Everything that belongs together, without labels", "Namespaces that a pipeline may not delete"
	save("unprotect.yaml", rights)
	save("mysql-protection.yaml", together)
	save("namespaces-protection.yaml", previews)

	reader.Does(t, guide, "Something to try it on", "One object", "Everything of one application", "A namespace", "See what is protected")

	steps := guide.Scripts(t, rights)
	reader.Run(t, steps[0])
	passes("label", "deployment", "mysql", "-n", "shop", "holdfast.dev/deletion-protected-", "--as=dev", "--dry-run=server")
	reader.Run(t, steps[1:]...)

	reader.Does(t, guide, together, previews, "Let one object go, once")

	steps = guide.Scripts(t, "Undo it")
	reader.Run(t, steps[0])
	marked := func(args ...string) func() string {
		return func() string {
			return e.Kubectl(t, append([]string{"get", "-o", `jsonpath={.metadata.labels.holdfast\.dev/protected-by}`}, args...)...).Stdout
		}
	}
	g.Eventually(marked("pvc", "data-mysql", "-n", "shop"), "180s", "100ms").Should(gomega.BeEmpty())
	g.Eventually(marked("namespace", "shop"), "180s", "100ms").Should(gomega.BeEmpty())
	reader.Run(t, steps[1])
	passes("delete", "namespace", "shop", "--dry-run=server")
	reader.Run(t, steps[2])
}
