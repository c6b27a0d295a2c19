// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The built-in templates and those that are ready made are nothing that a user could
// not write: the API server takes them.
func TestServiceAccountTemplate_ofHoldfastItself(t *testing.T) {
	t.Parallel()
	env := testkit.Shared(t)
	templates, err := builtin.Templates(configv1alpha1.DefaultLabelsExclusionPattern)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../config/serviceaccounts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := strings.Split(string(content), "\n---\n")
		templates = append(templates, v1alpha1.ServiceAccountTemplate{})
		if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &templates[len(templates)-1]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range templates {
		name := templates[i].Name
		templates[i].Name = "of-holdfast-" + name // another test has one of the same name for real
		if err := env.Client.Create(t.Context(), &templates[i], client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServiceAccountTemplate_schema(t *testing.T) {
	t.Parallel()
	const source = "source: {group: example.com, kind: Shop}, "
	tests := []struct{ name, spec, refused string }{
		{"the least that there can be", source + "accounts: [{id: a, name: x}]", ""},
		{
			"all that there can be", `source: {group: example.com, kind: Shop, version: v1beta1}, accounts: [{id: a, name: "${self.metadata.name}-x",
				template: .spec.a.b_c, enabled: "true", labels: {a: "${self.metadata.name}"}, inheritLabels: {exclude: "a(?!b)"},
				forbiddenLabels: {pattern: a, message: m}, ownerReference: {controller: true}, takeOver: [m],
				conflicts: {default: Fail, keys: [{pattern: "a*", policy: Force}]}}]`, "",
		},
		{"no source", "accounts: [{id: a, name: x}]", "spec.source: Required"},
		{"the core group, whose objects no operator makes accounts for", "source: {group: '', kind: Pod}, accounts: [{id: a, name: x}]", "spec.source.group"},
		{"no account", source + "accounts: []", "spec.accounts"},
		{"an account without a name", source + "accounts: [{id: a}]", "spec.accounts[0].name: Required"},
		{"two accounts of one id", source + "accounts: [{id: a, name: x}, {id: a, name: y}]", "Duplicate"},
		{"a path into a list", source + "accounts: [{id: a, name: x, template: '.spec.a[0]'}]", "spec.accounts[0].template"},
		{"a path without its dot", source + "accounts: [{id: a, name: x, template: spec.a}]", "spec.accounts[0].template"},
		{"an unknown policy", source + "accounts: [{id: a, name: x, conflicts: {default: Ignore}}]", "spec.accounts[0].conflicts.default"},
		{"a refusal without a message", source + "accounts: [{id: a, name: x, forbiddenLabels: {pattern: a}}]", "forbiddenLabels.message: Required"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := &v1alpha1.ServiceAccountTemplate{}
			if err := yaml.UnmarshalStrict([]byte("{metadata: {name: schema}, spec: {"+test.spec+"}}"), in); err != nil {
				t.Fatal(err)
			}
			err := testkit.Shared(t).Client.Create(t.Context(), in, client.DryRunAll)
			switch {
			case test.refused == "" && err != nil:
				t.Error(err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("got %v, want a refusal with %q", err, test.refused)
			}
		})
	}
}
