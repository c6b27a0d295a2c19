// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// load reads a configuration, of which only the parts for trees are given.
func load(t testing.TB, parts string) *configv1alpha1.HoldfastConfiguration {
	t.Helper()
	c, err := config.Load([]byte(config.Empty + parts))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestManaged(t *testing.T) {
	t.Parallel()
	const defaults = "hierarchy: {mode: Enforce}"
	tests := []struct {
		name, config string
		more         []string
		in, out      string
	}{
		{name: "by default all but those of the seed and Holdfast's own", config: defaults,
			in: "team default kube-systems", out: "kube-system kube-public kube-node-lease hnc-system holdfast-system config-management-system"},
		{name: "a list takes the place of the default", config: "hierarchy: {mode: Enforce, excludedNamespaces: [a]}",
			in: "kube-system b", out: "a holdfast-system"},
		{name: "an empty list is a list", config: "hierarchy: {mode: Enforce, excludedNamespaces: []}", in: "kube-system a", out: "holdfast-system"},
		{name: "the HNCConfiguration adds to it", config: defaults, more: []string{"a"}, in: "b", out: "a kube-system"},
		{name: "an expression is for whole names", config: `hierarchy: {mode: Enforce, includedNamespaces: "team-.*|x"}`,
			in: "team-a x", out: "a-team-a xx default kube-system"},
		{name: "the default of the flag is all", config: `hierarchy: {mode: Enforce, includedNamespaces: ".*"}`, in: "a", out: "kube-system"},
		{name: "the global scope bounds it", config: "scope: {namespaces: [team-*]}\n" + defaults, in: "team-a", out: "default kube-system"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := settings.New(load(t, tt.config), "holdfast-system", tt.more)
			if err != nil {
				t.Fatal(err)
			}
			for name := range strings.FieldsSeq(tt.in) {
				if !s.Managed(name) {
					t.Errorf("%s is not managed", name)
				}
			}
			for name := range strings.FieldsSeq(tt.out) {
				if s.Managed(name) {
					t.Errorf("%s is managed", name)
				}
			}
		})
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	const always = " kube-new hnc-system config-management-system holdfast-system"
	for _, tt := range []struct{ name, config, reserved, free string }{
		{name: "by default names of Kubernetes and of add-ons", config: "hierarchy: {mode: Enforce}", reserved: "cert-manager istio-egress gatekeeper-system" + always, free: "team team-a systems"},
		{name: "a list takes the place of the default", config: "hierarchy: {mode: Enforce, reservedNamespaces: [a-*]}", reserved: "a-b" + always, free: "cert-manager b-system"},
		{name: "an empty list reserves what is always reserved", config: "hierarchy: {mode: Enforce, reservedNamespaces: []}", reserved: always, free: "cert-manager a"},
		{name: "an exclusion takes names off the list that is configured", config: `hierarchy: {mode: Enforce, reservedNamespaces: ["*-system", "!my-system", "!kube-new"]}`, reserved: "a-system" + always, free: "my-system"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := settings.New(load(t, tt.config), "holdfast-system", nil)
			if err != nil {
				t.Fatal(err)
			}
			for names, want := range map[string]bool{tt.reserved: true, tt.free: false} {
				for name := range strings.FieldsSeq(names) {
					if s.Reserved(name) != want {
						t.Errorf("%s: reserved is %t", name, !want)
					}
				}
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, config, want string }{
		{name: "the defaults are right", config: "{}"},
		{name: "all that can be said is right", config: `{mode: Enforce, standBy: true, excludedNamespaces: [a], includedNamespaces: "a.*", ` +
			`managedLabels: ['team\.example\.com/.*'], strippedAnnotations: [kubectl.kubernetes.io/last-applied-configuration], uncopiedLabels: [a=b, c=], brake: {percent: 0, minimum: 0}}`},
		{name: "a mode that there is not", config: "{mode: On}", want: "hierarchy.mode"},
		{name: "a name that no namespace has", config: "{excludedNamespaces: [Kube]}", want: "hierarchy.excludedNamespaces[0]"},
		{name: "an expression that is none", config: `{includedNamespaces: "("}`, want: "hierarchy.includedNamespaces"},
		{name: "labels of HNC cannot be managed", config: `{managedLabels: [a, '.*']}`, want: "hierarchy.managedLabels[1]"},
		{name: "nor can those of PodSecurity", config: `{managedLabels: ['pod-security\.kubernetes\.io/.*']}`, want: "hierarchy.managedLabels[0]"},
		{name: "nor can annotations that bound where pods run", config: `{managedAnnotations: [a, 'scheduler.alpha.kubernetes.io/node-selector']}`, want: "hierarchy.managedAnnotations[1]"},
		{name: "a reserved name that is none", config: `{reservedNamespaces: [a, "B"]}`, want: "hierarchy.reservedNamespaces[1]"},
		{name: "a label without a value", config: `{uncopiedLabels: [a]}`, want: "hierarchy.uncopiedLabels[0]"},
		{name: "a key that is none", config: `{strippedLabels: ["a b"]}`, want: "hierarchy.strippedLabels[0]"},
		{name: "more than all", config: `{brake: {percent: 101}}`, want: "hierarchy.brake.percent"},
		{name: "less than nothing", config: `{brake: {minimum: -1}}`, want: "hierarchy.brake.minimum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range settings.Validate(load(t, "hierarchy: "+tt.config)) {
				got = append(got, p.Field)
			}
			if diff := cmp.Diff(strings.Fields(tt.want), got, cmp.Transformer("nil", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
	for _, feature := range []string{"deletion", "eviction", "serviceAccounts"} {
		c := load(t, feature+": {scope: {namespaceSelector: {matchLabels: {team/a: b}, matchExpressions: [{key: x, operator: Exists}]}}}\nhierarchy: {mode: Warn, managedLabels: [y, 'team/.*']}")
		if got := settings.Validate(c); len(got) != 1 || got[0].Field != "hierarchy.managedLabels[1]" || !strings.Contains(got[0].Detail, feature+".scope") {
			t.Errorf("%s goes by a label that is managed: %v", feature, got)
		}
	}
	selected := load(t, "scope: {namespaceSelector: {matchLabels: {a: b}}}\nhierarchy: {mode: Warn}")
	if got := settings.Validate(selected); len(got) != 1 || got[0].Field != "scope.namespaceSelector" {
		t.Errorf("with a scope by labels: %v", got)
	}
}
