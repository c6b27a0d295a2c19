// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Labels and deletions at the same time: a namespace goes only if its deletion
// was admitted before the label was written, never although it had been.
func TestConfirm_deletionsAndLabelsAtOnce(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	var group sync.WaitGroup
	for range 10 {
		ns := e.Namespace(t)
		cm := configMap(t, e, ns, "kept")
		labelled := make(chan error, 1)
		group.Go(func() {
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:"Always"}}}`, strict))
			labelled <- e.Client.Patch(t.Context(), cm, patch)
		})
		group.Go(func() {
			for {
				before := len(labelled) > 0
				var done error
				if before {
					done = <-labelled
					labelled <- done
				}
				err := e.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.DryRunAll)
				switch {
				case before && done == nil && err == nil:
					t.Errorf("%s: its deletion was admitted after the label was written", ns)
				case err != nil && !apierrors.IsForbidden(err):
					t.Errorf("%s: %v", ns, err)
				}
				if before {
					return
				}
			}
		})
	}
	group.Wait()
}

func TestConfirm_customResources(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	group := ns + ".example.org"
	crd := "gadgets." + group
	e.Apply(t, "", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: `+crd+`}, spec: {group: `+group+`, scope: Namespaced, names: {plural: gadgets, singular: gadget, kind: Gadget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	gadget := `{apiVersion: ` + group + `/v1, kind: Gadget, metadata: {name: one, labels: {holdfast.dev/deletion-protected: Always}}}`
	g.Eventually(func() string {
		return e.KubectlInput(t, gadget, "apply", "-n", ns, "-f", "-").Stderr
	}, "180s", "100ms").Should(gomega.BeEmpty())
	if got := refused(t, e, "delete", "crd", crd); !strings.Contains(got, "gadgets."+group+"/one") {
		t.Errorf("the refusal does not name the instance:\n%s", got)
	}
	g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "crd", crd), "180s", "100ms").Should(gomega.Equal("true"))
	g.Expect(refused(t, e, "delete", "crd", crd)).To(gomega.ContainSubstring("customresourcedefinitions.apiextensions.k8s.io/" + crd + " is not deleted because of what hangs below it: 1 protected object: "))
	done(t, e, "label", "gadgets."+group, "one", "-n", ns, strict+"-")
	g.Eventually(label(t, e, v1alpha1.MarkedLabel, "crd", crd), "180s", "100ms").Should(gomega.BeEmpty())
	done(t, e, "delete", "crd", crd)
}

// With Holdfast down a namespace stays by default, which TestOutage shows.
func TestConfirm_withHoldfastDown(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	for _, tt := range []struct {
		name, config string
		warns        bool
	}{
		{name: "allows where the configuration says so", config: "{onOutage: Allow}"},
		{name: "allows in mode Warn", config: "{mode: Warn}", warns: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			process := e.StartManager(t, configured(t, "deletion: "+tt.config)...)
			g := gomega.NewWithT(t)
			ns, marked := e.Namespace(t), e.Namespace(t)
			configMap(t, e, marked, "kept", strict+"=Always")
			g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "namespace", marked), "180s", "100ms").Should(gomega.Equal("true"))
			g.Eventually(func() bool { return e.Kubectl(t, "delete", "namespace", marked, "--dry-run=server").Code == 0 }, "180s", "100ms").
				Should(gomega.Equal(tt.warns), "the API server acts on another mode")
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			if !tt.warns {
				g.Expect(refused(t, e, "delete", "namespace", marked)).To(gomega.ContainSubstring("configmaps/kept"))
			}
			done(t, e, "delete", "namespace", ns, "--dry-run=server")
		})
	}
}

// configured are the arguments of a manager with a configuration of its own.
func configured(t testing.TB, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text = "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n" + text + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--config", file, "--config-map", ""}
}
