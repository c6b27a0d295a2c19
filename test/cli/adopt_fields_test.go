// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// fields of the kinds in a file, as "resource path".
func fields(t testing.TB, text string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(document), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Spec.Versions) > 0 {
			below(out, d.Spec.Names.Plural, d.Spec.Versions[0].Schema.OpenAPIV3Schema)
		}
	}
	return out
}

func below(out map[string]bool, at string, s *apiextensionsv1.JSONSchemaProps) {
	if s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	separator := " "
	if strings.Contains(at, separator) {
		separator = "."
	}
	for name, p := range s.Properties {
		out[at+separator+name] = true
		below(out, at+separator+name, &p)
	}
}
