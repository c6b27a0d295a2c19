// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// templateOf is a ServiceAccountTemplate with one account, which the text says more
// of than its id.
func templateOf(t *testing.T, account string) *v1alpha1.ServiceAccountTemplate {
	t.Helper()
	out := &v1alpha1.ServiceAccountTemplate{}
	out.Name = "shops"
	out.Spec.Source = v1alpha1.TemplateSource{Group: "example.com", Kind: "Shop"}
	one := v1alpha1.AccountTemplate{ID: "front", Name: "${self.metadata.name}-front"}
	if err := yaml.UnmarshalStrict([]byte(account), &one); err != nil {
		t.Fatal(err)
	}
	out.Spec.Accounts = []v1alpha1.AccountTemplate{one}
	return out
}

func compiled(t *testing.T, account string) *Mapping {
	t.Helper()
	m, problems := Compile(templateOf(t, account))
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return m
}

// shop is a Shop named acme in the namespace team, of which the text says more.
func shop(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion("example.com/v1")
	o.SetKind("Shop")
	o.SetNamespace("team")
	o.SetName("acme")
	o.SetUID("1")
	return o
}

// want is that of the only account of a shop.
func want(t *testing.T, account, content string) Want {
	t.Helper()
	wants := compiled(t, account).Wants(shop(t, content))
	if len(wants) != 1 {
		t.Fatalf("%d accounts", len(wants))
	}
	return wants[0]
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
