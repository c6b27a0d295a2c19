// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The label was acknowledged before the DELETE was sent, so the namespace must
// stay, although its mark is not there: here Holdfast may not write any.
func TestConfirm_closesTheMomentBetweenALabelAndItsMark(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	role := &rbacv1.ClusterRole{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: "holdfast-guard"}, role); err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		if slices.Equal(role.Rules[i].Resources, []string{"*"}) {
			role.Rules[i].Verbs = []string{"get", "list", "watch"}
		}
	}
	if err := e.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	labelled, selected, named := e.Namespace(t), e.Namespace(t), e.Namespace(t)
	g := gomega.NewWithT(t)
	selectConfigMaps(t, e, named, "named", "kept")
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: selected}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {keep: "yes"}}}]}]}}`)
	configMap(t, e, selected, "kept", "keep=yes")
	configMap(t, e, named, "kept")
	configMap(t, e, labelled, "kept", strict+"=Always")
	for _, ns := range []string{labelled, selected, named} {
		var err error
		g.Eventually(func() bool { // as soon as this replica knows the protections
			err = e.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.DryRunAll)
			return apierrors.IsForbidden(err)
		}, "180s", "50ms").Should(gomega.BeTrue(), "%s: %v", ns, err)
		g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring(deletion.ConfirmName), gomega.ContainSubstring("1 protected object: configmaps/kept")))
		g.Expect(label(t, e, v1alpha1.MarkedLabel, "namespace", ns)()).To(gomega.BeEmpty())
	}
}

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

// A kind whose list fails could hold anything.
func TestConfirm_refusesWhatItCannotLookAt(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	// Stored in one version, served in another through a webhook that nobody
	// answers: listing it fails.
	e.Apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: broken.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: broken, singular: broken, kind: Broken, listKind: BrokenList}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`)
	g.Eventually(func() string {
		return e.KubectlInput(t, `{apiVersion: example.org/v1, kind: Broken, metadata: {name: one}}`, "apply", "-n", ns, "-f", "-").Stderr
	}, "180s", "100ms").Should(gomega.BeEmpty())
	g.Eventually(func() string {
		return e.Kubectl(t, "delete", "namespace", ns, "--dry-run=server").Stderr
	}, "180s", "200ms").Should(gomega.And(
		gomega.ContainSubstring("because broken.example.org could not be looked at"),
		gomega.ContainSubstring("kubectl annotate namespace "+ns+" holdfast.dev/delete-unchecked="+ns)))
	done(t, e, "annotate", "namespace", ns, v1alpha1.DeleteUncheckedAnnotation+"="+ns)
	done(t, e, "delete", "namespace", ns, "--dry-run=server")
}

func TestConfirm_withHoldfastDown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, config   string
		refused, warns bool
	}{
		{name: "refuses by default", config: "{}", refused: true},
		{name: "allows where the configuration says so", config: "{onOutage: Allow}"},
		{name: "allows in mode Warn", config: "{mode: Warn}", warns: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := testkit.New(t, testkit.Options{NoManager: true})
			process := e.StartManager(t, configured(t, "deletion: "+tt.config)...)
			g := gomega.NewWithT(t)
			if !tt.warns {
				if err := e.WaitEnforced(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ns, marked := e.Namespace(t), e.Namespace(t)
			configMap(t, e, marked, "kept", strict+"=Always")
			g.Eventually(label(t, e, v1alpha1.HoldsProtectedMark, "namespace", marked), "180s", "100ms").Should(gomega.Equal("true"))
			if err := process.Kill(); err != nil {
				t.Fatal(err)
			}
			if !tt.warns {
				g.Expect(refused(t, e, "delete", "namespace", marked)).To(gomega.ContainSubstring("configmaps/kept"))
			}
			if !tt.refused {
				done(t, e, "delete", "namespace", ns, "--dry-run=server")
				return
			}
			g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring(deletion.ConfirmName))
			done(t, e, "annotate", "namespace", ns, v1alpha1.DeleteUncheckedAnnotation+"="+ns)
			done(t, e, "delete", "namespace", ns, "--wait=false")
			done(t, e, "delete", "configmap", configMap(t, e, marked, "free").Name, "-n", marked)

			// On a marked one the annotation is not enough.
			e.Grant(t, "", "editor", testkit.Rule("", []string{"namespaces"}, "*"))
			done(t, e, "annotate", "namespace", marked, v1alpha1.DeleteUncheckedAnnotation+"="+marked, "--as=editor")
			g.Expect(refused(t, e, "delete", "namespace", marked, "--as=editor")).To(gomega.ContainSubstring("configmaps/kept"))
			done(t, e, "delete", "namespace", marked, "--dry-run=server")
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
