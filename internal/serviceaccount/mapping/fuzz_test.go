// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// FuzzWants holds that nothing that compiles panics, that what is wanted is what the
// API server takes, and that the object stays as it is.
func FuzzWants(f *testing.F) {
	f.Add("${self.metadata.name}-front", ".spec.account", "has(self.spec.worker)", "${self.spec.x}", "^a(?!b).*", "spec: {account: {metadata: {labels: {a: b}}}, worker: {}, x: y}")
	f.Add("${ {'}': '}'}['}'] }", ".metadata", "true", "${'a' + \"}\"}", "(a+)+", "metadata: {metadata: {labels: {a: b}, annotations: {holdfast.dev/x: y}}, labels: {aab: c}}")
	f.Add("x", ".", "self", "${", "[", "spec: [1]")
	f.Add("a${'b'}c${'d'}", ".spec", "self.metadata.labels.size() == 0", "$", "", "{}")
	f.Fuzz(func(t *testing.T, name, path, enabled, label, pattern, content string) {
		in := &v1alpha1.ServiceAccountTemplate{Spec: v1alpha1.ServiceAccountTemplateSpec{
			Source: v1alpha1.TemplateSource{Group: "example.com", Kind: "Shop"},
			Accounts: []v1alpha1.AccountTemplate{{
				ID: "a", Name: name, Template: path, Enabled: enabled,
				Labels:          map[string]v1alpha1.TextTemplate{"own": v1alpha1.TextTemplate(label)},
				InheritLabels:   &v1alpha1.InheritedLabels{Exclude: pattern},
				ForbiddenLabels: &v1alpha1.ForbiddenLabels{Pattern: "bad" + pattern, Message: "no"},
				Conflicts:       v1alpha1.AccountConflicts{Keys: []v1alpha1.KeyConflict{{Pattern: pattern, Policy: v1alpha1.ConflictForce}}},
			}},
		}}
		m, problems := Compile(in)
		if len(problems) > 0 {
			return
		}
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(content), &parsed); err != nil {
			return
		}
		if meta, ok := parsed["metadata"].(map[string]any); parsed["metadata"] != nil && !ok || len(meta) > 100 {
			return // no such object
		}
		o := shop(t, content)
		before := o.DeepCopy()
		for _, w := range m.Wants(o) {
			m.accounts[0].conflicts.For(name)
			if w.Err == nil && len(apivalidation.ValidateServiceAccountName(w.Name, false)) > 0 {
				t.Errorf("no account can have the name %q", w.Name)
			}
			if w.Err != nil && (w.Labels != nil || w.Annotations != nil) {
				t.Errorf("labels or annotations beside the error %v", w.Err)
			}
			for _, invalid := range append(metav1validation.ValidateLabels(w.Labels, nil), apivalidation.ValidateAnnotations(w.Annotations, nil)...) {
				t.Error(invalid)
			}
		}
		if diff := cmp.Diff(before, o); diff != "" {
			t.Errorf("object (-before +after):\n%s", diff)
		}
	})
}
