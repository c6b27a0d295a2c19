// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What DESIGN calls the first promise: the rules hold while every pod of
// Holdfast is down, and nothing else is in anybody's way.
func TestOutage_rulesHoldAndNothingElseIsRefused(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{e.Namespace(t), "default", "kube-system", "kube-public", "holdfast-system"} {
		kept := configMap(t, e, ns, "kept", strict+"=Always", karmada+"=Always")
		if err := e.Client.Delete(t.Context(), kept); !apierrors.IsForbidden(err) {
			t.Errorf("a labelled object in %s: got %v, want a 403", ns, err)
		}
		loose := configMap(t, e, ns, "loose")
		loose.Data = map[string]string{"a": "b"}
		if err := e.Client.Update(t.Context(), loose); err != nil {
			t.Errorf("an unrelated update in %s: %v", ns, err)
		}
		if err := e.Client.Delete(t.Context(), loose); err != nil {
			t.Errorf("an unrelated delete in %s: %v", ns, err)
		}
	}
	// The configuration has a webhook, and that one fails open.
	if out := e.Kubectl(t, "annotate", "-n", "holdfast-system", "configmap/holdfast", "during=outage"); out.Code != 0 {
		t.Errorf("the configuration cannot be written while the manager is down: %s", out.Stderr)
	}
}

func TestOutage_theModeChangesByPlainKubectlWithTheManagerDead(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	ns := e.Namespace(t)
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	g := gomega.NewWithT(t)
	configMap(t, e, ns, "x", strict+"=Always")
	for _, step := range []struct {
		actions, wantWarning string
		wantRefused          bool
	}{
		{actions: `["Warn","Audit"]`, wantWarning: "is protected from deletion"},
		{actions: `["Audit"]`},
		{actions: `["Deny","Audit"]`, wantRefused: true},
	} {
		out := e.Kubectl(t, "patch", "validatingadmissionpolicybinding", "holdfast-deletion-holdfast", "--type=merge", "-p", `{"spec":{"validationActions":`+step.actions+`}}`)
		if out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		g.Eventually(func() bool {
			out := e.Kubectl(t, "delete", "-n", ns, "configmap/x", "--dry-run=server")
			return (out.Code != 0) == step.wantRefused && strings.Contains(out.Stderr, step.wantWarning) &&
				(step.wantWarning != "" || step.wantRefused || !strings.Contains(out.Stderr, "protected"))
		}, "15s", "100ms").Should(gomega.BeTrue(), "with %s", step.actions)
	}
}
