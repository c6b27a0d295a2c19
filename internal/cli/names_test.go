// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/refusal"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// hostile are names that the API server takes for a Role.
var hostile = map[string]string{
	"x;id #":                         `'x;id #'`,
	"$(id)":                          `'$(id)'`,
	"it's":                           `'it'\''s'`,
	"esc\x1b[2J\nfake: line":         `$'esc\x1b[2J\nfake: line'`,
	"a\u202eb":                       `$'a\u202eb'`,
	"system:controller:job":          "system:controller:job",
	"--all":                          "--all", // it stands behind the type and a slash
	strings.Repeat("a ", 20) + "\tb": `$'` + strings.Repeat("a ", 20) + `\tb'`,
}

// Wherever a name stands in a text it is one word, and the command that the text recommends is about that object.
func TestNames_areOneWord(t *testing.T) {
	t.Parallel()
	roles := kind{GroupVersionResource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, Kind: "Role", Namespaced: true}
	for name, word := range hostile {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: "1",
			Labels: map[string]string{v1alpha1.HoldsProtectedMark: v1alpha1.ProtectAlways, v1alpha1.MarkedLabel: "1"},
		}}
		of := newTarget(roles, o)
		ref := v1alpha1.OverrideTarget{Kind: "Role", Namespace: "shop", Name: name}
		about := refusal.About{Target: of.String(), Flag: of.namespaceFlag(), Name: name, Delete: true}
		owned := &metav1.PartialObjectMetadata{}
		owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Role", Name: name, Controller: new(true)}}
		nodes := []node{{objectRef: refOf(of)}}
		const typed = "roles.rbac.authorization.k8s.io/"
		for what, tt := range map[string]struct{ got, want string }{
			"the object":        {of.where(), typed + word + " in namespace shop"},
			"an override":       {askCommand(of, true), "kubectl holdfast override ask " + typed + word + " -n shop --include-contents --reason WHY"},
			"a target":          {targetText(ref), "role/" + word + " in namespace shop"},
			"a target in short": {shortTarget(v1alpha1.DeletionOverride{Spec: v1alpha1.DeletionOverrideSpec{Target: ref}}), "shop/role/" + word},
			"a controller":      {controllerOf(owned), "role/" + word},
			"a tree":            {groupBranch(nodes, relationContents, true).branches[0].text, word},
			"what an owner has": {dependentBranches(nodes, "shop", true)[0].text, typed + word},
			"a way past": {
				(&refusal.Refusal{By: refusal.ByOutage, Feature: "deletion"}).Steps(about)[1],
				"to delete this one object without a look below it: kubectl annotate " + typed + word + " -n shop holdfast.dev/delete-unchecked=" + word,
			},
		} {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
	}
}

// A script reads the output of -o name line by line.
func TestNames_withControlCharactersAreLeftOut(t *testing.T) {
	t.Parallel()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	c := newClients(ui.NewStreams(streams))
	roles := kind{GroupVersionResource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, Kind: "Role", Namespaced: true}
	var rows []row
	for _, name := range []string{"a", "b\nroles/victim", "c"} {
		rows = append(rows, row{target: newTarget(roles, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})})
	}
	if err := c.printNames(rows); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("role.rbac.authorization.k8s.io/a\nrole.rbac.authorization.k8s.io/c\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(errOut.String(), `roles.rbac.authorization.k8s.io/$'b\nroles/victim' is left out`) {
		t.Errorf("got %q", errOut)
	}
}

// Texts of others stand in the column of the command.
func TestNames_aTextOfSeveralLines(t *testing.T) {
	t.Parallel()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	c := newClients(ui.NewStreams(streams))
	c.fact("message", "one\nwhat to do: \x1b[1mfake\u202e")
	c.bullets("note", []string{"one\ntwo"})
	const want = "  message        one\n                 what to do: ^[[1mfake\\u202e\n\nnote:\n  - one\n    two\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
		t.Errorf("got %q", out)
	}
}
