// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWants_name(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want, err string }{
		{"a text without expressions", "front", "front", ""},
		{"an expression", "${self.metadata.name}", "acme", ""},
		{"several expressions and text", "a-${self.metadata.name}-${self.spec.size}.b", "a-acme-xl.b", ""},
		{"an expression with braces of its own", "${ {'a': {'b': 'c'}}['a']['b'] }-${'d'}", "c-d", ""},
		{"an expression with a brace in a text", "${'a}b'.replace('}', '-')}", "a-b", ""},
		{"a default for what is not there", "x-${self.?spec.color.orValue('red')}", "x-red", ""},
		{"an expression whose value is a number", "x-${self.spec.replicas}", "", "the name: the value of self.spec.replicas is not text"},
		{"an expression that does not hold", "${self.spec.color}", "", `the name: evaluate "self.spec.color": no such key: color`},
		{"a name that no account can have", "${self.metadata.name}_front", "", `the name "acme_front": a lowercase RFC 1123 subdomain`},
		{"an empty name", "${''}", "", `the name "": a lowercase RFC 1123 subdomain`},
		{"a path, which no name is", "../${self.metadata.name}", "", `the name "../acme": a lowercase RFC 1123 subdomain`},
		{"the account of all other pods", "default", "default", "the account default is that of every pod"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := want(t, "name: \""+test.text+"\"", "spec: {size: xl, replicas: 3}")
			if got.Name != test.want {
				t.Errorf("name %q, want %q", got.Name, test.want)
			}
			if !strings.HasPrefix(message(got.Err), test.err) || (test.err == "") != (got.Err == nil) {
				t.Errorf("error %q, want %q", message(got.Err), test.err)
			}
		})
	}
}

func TestWants_template(t *testing.T) {
	t.Parallel()
	const path = "template: .spec.account"
	tests := []struct {
		name, content       string
		labels, annotations map[string]string
		err                 string
	}{
		{name: "an object without a template", content: "spec: {}"},
		{name: "an object without a spec", content: "{}"},
		{name: "an empty template", content: "spec: {account: {metadata: {labels: {}, annotations: {}}}}"},
		{name: "a template that is null", content: "spec: {account: null}"},
		{
			name: "labels and annotations", content: "spec: {account: {metadata: {labels: {a: b}, annotations: {c: d}}}}",
			labels: map[string]string{"a": "b"}, annotations: map[string]string{"c": "d"},
		},
		{name: "a template that is no object", content: "spec: {account: x}", err: ".spec.account is not an object"},
		{
			name: "a value that is a number", content: "spec: {account: {metadata: {annotations: {a: 1}}}}",
			err: ".spec.account.metadata.annotations is not a map of texts: put the value of a in quotes",
		},
		{
			name: "a label value that is none", content: "spec: {account: {metadata: {labels: {a: 'b c'}}}}",
			err: `metadata.labels: Invalid value: "b c"`,
		},
		{
			name: "an annotation key that is none", content: "spec: {account: {metadata: {annotations: {'a b': c}}}}",
			err: `metadata.annotations: Invalid value: "a b"`,
		},
		{
			name: "a key of Holdfast's own", content: "spec: {account: {metadata: {labels: {holdfast.dev/deletion-protected: 'true'}}}}",
			err: ".spec.account.metadata.labels: holdfast.dev/deletion-protected is a key of Holdfast's own",
		},
		{
			name: "a mark by which another tool prunes", content: "spec: {account: {metadata: {annotations: {config.k8s.io/owning-inventory: x}}}}",
			err: ".spec.account.metadata.annotations: config.k8s.io/owning-inventory is a key of Holdfast's own, or says whose an object is",
		},
		{
			name: "a label that protects from deletion", content: "spec: {account: {metadata: {labels: {policy.kruise.io/delete-protection: Always}}}}",
			err: ".spec.account.metadata.labels: policy.kruise.io/delete-protection is a key of Holdfast's own, or says whose an object is or that it is protected",
		},
		{
			name: "a mark of the hierarchy", content: "spec: {account: {metadata: {labels: {acme.tree.hnc.x-k8s.io/depth: '0'}}}}",
			err: ".spec.account.metadata.labels: acme.tree.hnc.x-k8s.io/depth is a key of Holdfast's own",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := want(t, path, test.content)
			if !strings.HasPrefix(message(got.Err), test.err) || (test.err == "") != (got.Err == nil) {
				t.Fatalf("error %q, want %q", message(got.Err), test.err)
			}
			if test.err != "" {
				return
			}
			if got.Annotations != nil && test.annotations == nil {
				t.Errorf("annotations %v, want nil", got.Annotations)
			}
			if diff := cmp.Diff(test.labels, nilIfEmpty(got.Labels)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.annotations, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func nilIfEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

func TestWants_labels(t *testing.T) {
	t.Parallel()
	const content = "{metadata: {labels: {a: object, b: object, c: object, hnc.x-k8s.io/inherited-from: parent, applyset.kubernetes.io/part-of: x}}, " +
		"spec: {account: {metadata: {labels: {c: template}}}}}"
	tests := []struct {
		name, account string
		want          map[string]string
		err           string
	}{
		{
			name: "nothing is inherited unless the template says so", account: "labels: {b: own}",
			want: map[string]string{"b": "own", "c": "template"},
		},
		{
			name: "what is inherited comes first, the template last, and marks of the object stay behind", account: "{inheritLabels: {}, labels: {b: own, c: own}}",
			want: map[string]string{"a": "object", "b": "own", "c": "template"},
		},
		{
			name: "an exclusion is for whole keys", account: "{inheritLabels: {exclude: 'a|.b'}}",
			want: map[string]string{"b": "object", "c": "template"},
		},
		{
			name: "a value with an expression", account: `labels: {kind: "${self.kind}-${self.metadata.labels.a}"}`,
			want: map[string]string{"kind": "Shop-object", "c": "template"},
		},
		{name: "a value that no label can have", account: `labels: {x: "${'a b'}"}`, err: `metadata.labels: Invalid value: "a b"`},
		{name: "a value that cannot be told", account: "labels: {x: '${self.x}'}", err: `the label x: evaluate "self.x": no such key: x`},
		{name: "a label of the object that is forbidden", account: "forbiddenLabels: {pattern: a, message: not a}", err: "not a"},
		{name: "a label of the template that is forbidden", account: "{template: .spec.account, forbiddenLabels: {pattern: c, message: not c}}", err: "not c"},
		{
			name: "a refusal is for whole keys, and not for the account's own", account: "{labels: {ab: own}, forbiddenLabels: {pattern: ab, message: no}}",
			want: map[string]string{"ab": "own", "c": "template"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := templateOf(t, test.account)
			m.Spec.Accounts[0].Template = ".spec.account"
			compiled, problems := Compile(m)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := compiled.Wants(shop(t, content))[0]
			if !strings.HasPrefix(message(got.Err), test.err) || (test.err == "") != (got.Err == nil) {
				t.Errorf("error %q, want %q", message(got.Err), test.err)
			}
			if diff := cmp.Diff(test.want, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWants_enabled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, condition, content string
		want                     bool
		err                      string
	}{
		{name: "without a condition it is", content: "{}", want: true},
		{name: "a part that is there", condition: "has(self.spec.worker)", content: "spec: {worker: {}}", want: true},
		{name: "a part that is not there", condition: "has(self.spec.worker)", content: "spec: {}"},
		{name: "an annotation that is not there needs no question for all of them", condition: "'a' in self.metadata.annotations", content: "{}"},
		{name: "a condition that cannot be told", condition: "has(self.spec.worker)", content: "{}", err: "whether it is enabled: evaluate"},
		{name: "a condition that is not true or false", condition: "self.spec", content: "spec: {}", err: "whether it is enabled: the value of self.spec is not true or false"},
		{
			name: "an account that is not enabled has no mistakes", condition: "false",
			content: "{metadata: {labels: {bad: x}}, spec: {account: 1}}",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			account := "{template: .spec.account, forbiddenLabels: {pattern: bad, message: m}, ownerReference: {}}"
			m := templateOf(t, account)
			m.Spec.Accounts[0].Enabled = test.condition
			compiled, problems := Compile(m)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := compiled.Wants(shop(t, test.content))[0]
			if got.Enabled != test.want || got.Name != "acme-front" || got.OwnerReference == nil {
				t.Errorf("got %+v, want enabled %t", got, test.want)
			}
			if !strings.HasPrefix(message(got.Err), test.err) || (test.err == "") != (got.Err == nil) {
				t.Errorf("error %q, want %q", message(got.Err), test.err)
			}
		})
	}
}

func TestWants_owner(t *testing.T) {
	t.Parallel()
	if got := want(t, "{}", "{}").OwnerReference; got != nil {
		t.Errorf("got %v, want none", got)
	}
	got := want(t, "ownerReference: {blockOwnerDeletion: true}", "{}").OwnerReference
	expected := &metav1.OwnerReference{
		APIVersion: "example.com/v1", Kind: "Shop", Name: "acme", UID: "1", BlockOwnerDeletion: new(true), Controller: new(false),
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("owner reference (-want +got):\n%s", diff)
	}
}

func TestWants_ofAnObjectWithoutANamespace(t *testing.T) {
	t.Parallel()
	o := shop(t, "{}")
	o.SetNamespace("")
	if got := compiled(t, "{}").Wants(o)[0]; !errors.Is(got.Err, ErrClusterScoped) || got.Name != "" {
		t.Errorf("got %+v, want %v", got, ErrClusterScoped)
	}
}

func TestWants_leaveTheObjectAsItIs(t *testing.T) {
	t.Parallel()
	o := shop(t, "spec: {account: {metadata: {labels: {a: b}}}}")
	before := o.DeepCopy()
	compiled(t, "{template: .spec.account, enabled: \"!('a' in self.metadata.labels)\"}").Wants(o)
	if diff := cmp.Diff(before, o); diff != "" {
		t.Errorf("object (-before +after):\n%s", diff)
	}
}

func TestWants_aPatternThatTakesForEver(t *testing.T) {
	t.Parallel()
	o := shop(t, "{}")
	o.SetLabels(map[string]string{strings.Repeat("a", 60) + "b": ""})
	got := compiled(t, "inheritLabels: {exclude: '(a+)+c'}").Wants(o)[0]
	if !strings.HasPrefix(message(got.Err), "the pattern takes too long on the key") {
		t.Errorf("error %v", got.Err)
	}
}
