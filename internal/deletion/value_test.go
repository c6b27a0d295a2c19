// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestValue_unknownValuesAreRefusedWhereTheyAreSet(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for _, label := range []string{strict, karmada, kruise} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			ns := e.Namespace(t)
			configMap(t, e, ns, "x")
			for _, args := range [][]string{
				{"label", "configmap", "x", label + "=always"},
				{"label", "namespace", ns, label + "=true"},
			} {
				out := e.Kubectl(t, append([]string{"-n", ns}, args...)...)
				if want := "the label " + label + " may be Always"; out.Code == 0 || !strings.Contains(out.Stderr, want) {
					t.Errorf("kubectl %s ended with %d: %s, want %q", strings.Join(args, " "), out.Code, out.Stderr, want)
				}
			}
			out := e.KubectlInput(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: born, labels: {`+label+`: "yes"}}}`, "create", "-n", ns, "-f", "-")
			if out.Code == 0 {
				t.Error("an object was born with a value that means nothing")
			}
		})
	}
}

func TestValue_fromATemplateIsWarnedOf(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	out := e.KubectlInput(t, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: always},
		ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]}, spec: {containers: [{name: c, image: i}]}}`,
		"create", "-n", ns, "-f", "-", "--dry-run=server")
	if want := "has a value that Holdfast does not act on and protects this object as Always does"; out.Code != 0 || !strings.Contains(out.Stderr, want) {
		t.Errorf("kubectl ended with %d: %s, want a warning with %q", out.Code, out.Stderr, want)
	}
}

func TestValue_onAnObjectThatIsBeingDeletedIsWarnedOf(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, finalizers: [example.com/hold]}}`)
	done(t, e, "delete", "configmap", "x", "-n", ns, "--wait=false")
	for _, label := range []string{strict, karmada, kruise} {
		out := e.Kubectl(t, "label", "configmap", "x", "-n", ns, label+"=Always")
		if want := "already being deleted, and the label " + label + " does not stop that"; out.Code != 0 || !strings.Contains(out.Stderr, want) {
			t.Errorf("kubectl ended with %d: %s, want a warning with %q", out.Code, out.Stderr, want)
		}
	}
	if out := e.Kubectl(t, "patch", "configmap", "x", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`); out.Code != 0 || strings.Contains(out.Stderr, "Warning") {
		t.Errorf("kubectl ended with %d: %s, want no warning of what stands there", out.Code, out.Stderr)
	}
}
