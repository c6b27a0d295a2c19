// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// A reader follows the guide, and the operators reconcile in between. Other tests show its tables: which labels are copied
// where, TestOperators_whichLabelsStrimziCopiesWhere and TestOperators_reconcileWhatIsProtected; what an operator may delete,
// TestOperators_deleteWhatIsNoLongerWanted and, in internal/deletion, TestOperator_replacesWhatItMade.
func TestGuide_protectWhatAnOperatorRuns(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	guide := page.Read(t, "docs/guides/protect-what-an-operator-runs.md")
	for _, tt := range []struct {
		name   string
		follow func(*testing.T, *page.Page)
	}{
		{"Strimzi copies the label and later removes it", followWithStrimzi},
		{"Strimzi keeps the label from what it makes", followExclusion},
		{"CloudNativePG is refused, and the label is taken off", followWithCloudNativePG},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.follow(t, guide)
		})
	}
}

func followWithStrimzi(t *testing.T, guide *page.Page) {
	r := newRigIn(t, guideNamespace(t, "kafka"), strimzi{}, situation{})
	reader := r.Reader(t)
	r.reconcile("creates everything")

	reader.Does(t, guide, "Protect the custom resource")
	r.situation.labelled = true
	r.rolled(true, func() { r.reconcile("copies the label") })
	r.settle(true)
	r.rolled(true, func() { r.reconcile("copies the marks of the owners") })
	r.settle(true)
	r.rolled(false, func() { r.reconcile("reconciles without a change") })
	r.keeps(r.protected())
	if out := r.Kubectl(t, "delete", "namespace", r.namespace, "--dry-run=server"); !strings.Contains(out.Stderr, "protected objects") {
		t.Errorf("the namespace is not protected: %s", out.Stderr)
	}

	off := guide.Scripts(t, "Take the label off")
	reader.Run(t, off[0])
	r.rolled(false, func() { r.program.reconcile(r) })
	if all := refused(r.sent.take()); len(all) == 0 {
		t.Error("the operator is not refused to remove the label")
	}
	reader.Run(t, off[1])
	r.situation.labelled = false
	r.rolled(true, func() { r.reconcile("removes the label from the pods") })
	r.unprotected()
}

// followExclusion has the Deployment of the guide, whose pattern is Strimzi's own and one alternative more.
func followExclusion(t *testing.T, guide *page.Page) {
	var operator corev1.Container
	if err := yaml.UnmarshalStrict([]byte(guide.YAML(t, "Keep Strimzi from copying")), &operator); err != nil {
		t.Fatal(err)
	}
	const own = `(^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*|`
	if len(operator.Env) != 1 || operator.Env[0].Name != "STRIMZI_LABELS_EXCLUSION_PATTERN" || !strings.HasPrefix(operator.Env[0].Value, own) {
		t.Fatalf("got %v, want an addition to Strimzi's own pattern %s", operator.Env, own)
	}
	r := newRig(t, strimzi{exclusion: strings.TrimSuffix(strings.TrimPrefix(operator.Env[0].Value, own), ")")}, situation{labelled: true})
	r.reconcile("creates everything")
	r.settle(true)
	r.rolled(false, func() { r.reconcile("reconciles without a change") })
	if diff := cmp.Diff([]string{}, labelsOfHoldfast(r.made(slices.Concat(kinds, unmarked)...))); diff != "" {
		t.Errorf("labels of Holdfast on what the operator made (-want +got):\n%s", diff)
	}
	r.keeps(r.protected())
}

func followWithCloudNativePG(t *testing.T, guide *page.Page) {
	r := newRigIn(t, guideNamespace(t, "postgres"), cloudNativePG{inherited: "holdfast.dev/*"}, situation{labelled: true})
	reader := r.Reader(t)
	r.reconcile("creates everything")
	r.settle(true)
	reader.Does(t, guide, "When the operator is refused")

	reader.Run(t, guide.Scripts(t, "Take the label off")[2])
	r.situation.labelled = false
	want := []string{"Pod/db-1 holdfast.dev/deletion-protected", "Pod/db-2 holdfast.dev/deletion-protected"}
	r.Eventually(func() string { return cmp.Diff(want, labelsOfHoldfast(r.all())) }, patience, often).Should(gomega.BeEmpty())
	r.upgrade()
	r.rolled(true, func() { r.reconcile("rolls the pods") })
	r.unprotected()
}

// guideNamespace makes a namespace that the guide names.
func guideNamespace(t *testing.T, name string) string {
	t.Helper()
	e := testkit.Shared(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := e.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Client.Delete(context.WithoutCancel(t.Context()), ns) })
	return name
}

// unprotected waits until nothing has a label of Holdfast. Then the operator reconciles without a change, and users may
// delete everything.
func (r *rig) unprotected() {
	r.t.Helper()
	r.Eventually(func() string {
		r.reconcile("reconciles what Holdfast has changed")
		return cmp.Diff([]string{}, labelsOfHoldfast(r.all()))
	}, patience, often).Should(gomega.BeEmpty())
	r.rolled(false, func() { r.reconcile("reconciles without a change") })
	r.keeps(nil)
	if out := r.Kubectl(r.t, "delete", "namespace", r.namespace, "--dry-run=server"); out.Code != 0 {
		r.t.Errorf("the namespace is protected: %s", out.Stderr)
	}
}

// all are the custom resources and what the operator made of them.
func (r *rig) all() []metav1.PartialObjectMetadata {
	r.t.Helper()
	return append(r.owners(), r.made(slices.Concat(kinds, unmarked)...)...)
}

// labelsOfHoldfast are the labels of Holdfast that objects have, by object.
func labelsOfHoldfast(objects []metav1.PartialObjectMetadata) []string {
	out := []string{}
	for _, o := range objects {
		for key := range o.Labels {
			if strings.HasPrefix(key, "holdfast.dev/") {
				out = append(out, nameOf(o)+" "+key)
			}
		}
	}
	slices.Sort(out)
	return out
}
