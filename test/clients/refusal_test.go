// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const label = v1alpha1.DeletionProtectedLabel

// The refusals are written out here in full, because what a user reads is what
// these tests are about.
const (
	// toDelete has the target, such as configmaps/a, and the namespace.
	toDelete = "%[1]s is protected from deletion by the label holdfast.dev/deletion-protected. " +
		"Whoever holds the right to unprotect it can run: kubectl label %[1]s -n %[2]s holdfast.dev/deletion-protected-"
	// toUnprotect has the same.
	toUnprotect = "the label holdfast.dev/deletion-protected protects %[1]s from deletion; taking it away, changing or emptying it needs " +
		`the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev in the object's namespace, or cluster-wide for a Namespace or an object without one` +
		". Put it back into what you apply, or have somebody with that right run: kubectl label %[1]s -n %[2]s holdfast.dev/deletion-protected-"
)

// deleteRefused is all that the API server says to the DELETE of an object.
func deleteRefused(ns, target string) string {
	return refused(target, "holdfast-deletion-holdfast", fmt.Sprintf(toDelete, target, ns))
}

// unprotectRefused is all that it says to a change that takes the label away.
func unprotectRefused(ns, target string) string {
	return refused(target, "holdfast-deletion-holdfast-unprotect", fmt.Sprintf(toUnprotect, target, ns))
}

func refused(target, policy, message string) string {
	resource, name, _ := strings.Cut(target, "/")
	return fmt.Sprintf("%s %q is forbidden: ValidatingAdmissionPolicy '%s' with binding '%[3]s' denied request: %s", resource, name, policy, message)
}

// mustBeRefused compares an error of a client that hands on what the API server
// says.
func mustBeRefused(t testing.TB, err error, want string) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want a 403", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("what the user reads (-want +got):\n%s", diff)
	}
}

// followAdvice runs, as a user, the command that a refusal ends with.
func followAdvice(t testing.TB, e *testkit.Env, user, refusal string) testkit.Output {
	t.Helper()
	_, command, found := strings.Cut(refusal, "can run: kubectl ")
	if !found {
		t.Fatalf("the refusal says no command: %s", refusal)
	}
	return e.Kubectl(t, append([]string{"--as", user}, strings.Fields(command)...)...)
}

// users are two who may do everything with the objects of a namespace, of whom
// one may unprotect too. Administrators always may, so they would show nothing.
func users(t testing.TB, e *testkit.Env, ns string) (editor, owner string) {
	t.Helper()
	editor, owner = "editor-"+ns, "owner-"+ns
	for _, user := range []string{editor, owner} {
		e.Grant(t, ns, user,
			testkit.Rule("", []string{"configmaps", "secrets"}, "*"),
			testkit.Rule("apps", []string{"statefulsets"}, "*"))
	}
	e.Grant(t, ns, owner, testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.UnprotectVerb))
	return editor, owner
}

// always is the label as configMap takes it.
const always = label + ": Always"

// configMap is a manifest of a ConfigMap with the data {v: value}, and with the
// labels written "key: value". Without any it has no field for them, for whoever
// applies an empty one owns that.
func configMap(ns, name, value string, labels ...string) string {
	field := ""
	if len(labels) > 0 {
		field = ", labels: {" + strings.Join(labels, ", ") + "}"
	}
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: %s, name: %s%s}, data: {v: %q}}", ns, name, field, value)
}

func decode(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
		t.Fatalf("decode %s: %v", manifest, err)
	}
	return o
}

// stored is what the API server has of an object of a manifest: its value and
// whether the label protects it, as in "1, protected"; or "gone".
func stored(t testing.TB, e *testkit.Env, manifest string) string {
	t.Helper()
	o := decode(t, manifest)
	err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	if err != nil {
		t.Fatal(err)
	}
	var state []string
	if value, _, _ := unstructured.NestedString(o.Object, "data", "v"); value != "" {
		state = append(state, value)
	}
	if o.GetDeletionTimestamp() != nil {
		state = append(state, "terminating")
	}
	if o.GetLabels()[label] == v1alpha1.ProtectAlways {
		state = append(state, "protected")
	}
	return strings.Join(state, ", ")
}
