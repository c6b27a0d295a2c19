// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

func TestStandingBy(t *testing.T) {
	t.Parallel()
	hnc := &configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: []string{"kube-system"}, UncopiedLabels: []string{}, ManagedLabels: []string{"team/.*"}}
	const given = "  mode: Enforce\n  standBy: true\n  excludedNamespaces: [kube-system]\n  managedLabels: [team/.*]\n  uncopiedLabels: []\n"
	tests := []struct {
		name, text, want string
		differs          []string
		without          bool
	}{
		{name: "nothing", text: "", want: config.Empty + "hierarchy:\n" + given},
		{name: "without an HNC", text: config.Empty, without: true, want: config.Empty + "hierarchy:\n  mode: Enforce\n  standBy: true\n"},
		{
			name: "all else stays as it is written",
			text: "# ours\n" + config.Empty + "\ndeletion:   {mode: Warn}   # for now\n\n# the end\n",
			want: "# ours\n" + config.Empty + "\ndeletion:   {mode: Warn}   # for now\n\n# the end\nhierarchy:\n" + given,
		},
		{
			name: "comments in the part stay, and what is around it",
			text: config.Empty + "# trees\nhierarchy: # later\n  # how\n  mode: \"Off\" # not yet\n  brake: {percent: 10}\n\n# deletions\ndeletion: {mode: Warn}\n",
			want: config.Empty + "# trees\nhierarchy: # later\n  # how\n  mode: Enforce # not yet\n  brake: {percent: 10}\n" +
				strings.TrimPrefix(given, "  mode: Enforce\n") + "\n# deletions\ndeletion: {mode: Warn}\n",
		},
		{
			name:    "what it says already stays, and is told",
			text:    config.Empty + "hierarchy:\n  mode: Warn\n  excludedNamespaces: [kube-system, mine]\n  managedLabels: [team/.*]\n",
			want:    config.Empty + "hierarchy:\n  mode: Warn\n  excludedNamespaces: [kube-system, mine]\n  managedLabels: [team/.*]\n  standBy: true\n  uncopiedLabels: []\n",
			differs: []string{"hierarchy.excludedNamespaces"},
		},
		{
			name: "on one line", text: config.Empty + "hierarchy: {mode: \"Off\"}\nscope: {namespaces: [a]}\n",
			want: config.Empty + "hierarchy: {mode: Enforce, standBy: true, excludedNamespaces: [kube-system], managedLabels: [team/.*], uncopiedLabels: []}\nscope: {namespaces: [a]}\n",
		},
		{name: "empty", text: config.Empty + "hierarchy: {}\n", want: config.Empty + "hierarchy:\n" + given},
		{name: "null", text: config.Empty + "hierarchy:\n", want: config.Empty + "hierarchy:\n" + given},
		{name: "with an end", text: config.Empty + "hierarchy:\n  standBy: false\n...\n", without: true, want: config.Empty + "hierarchy:\n  standBy: true\n  mode: Enforce\n...\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := hnc
			if tt.without {
				from = nil
			}
			got, differs, err := standingBy(tt.text, from)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.differs, differs); diff != "" {
				t.Errorf("differs (-want +got)\n%s", diff)
			}
			again, _, err := standingBy(got, from)
			if err != nil || again != got {
				t.Errorf("done twice: %v\n%s", err, cmp.Diff(got, again))
			}
		})
	}
}

func TestActive(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		config.Empty + "hierarchy:\n  mode: Enforce # yes\n  standBy: true\n": config.Empty + "hierarchy:\n  mode: Enforce # yes\n",
		config.Empty + "hierarchy: {mode: Warn, standBy: true}\n":             config.Empty + "hierarchy: {mode: Warn}\n",
		config.Empty + "hierarchy: {mode: Warn}\n":                            config.Empty + "hierarchy: {mode: Warn}\n",
		config.Empty + "hierarchy: {standBy: true}\n":                         config.Empty + "hierarchy: {}\n",
	} {
		if got, err := active(text); err != nil || got != want {
			t.Errorf("%s: %v\n%s", text, err, cmp.Diff(want, got))
		}
	}
}

func TestChange_refuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"what is not valid":            {config.Empty + "hierarchy: {mode: Maybe}\n", "the configuration that is there is not valid; mend it first"},
		"all on one line":              {"{apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration}", "write each of its fields on a line of its own"},
		"what others would be part of": {config.Empty + "deletion: &all {mode: Warn}\nhierarchy: *all\n", "cannot be changed in part"},
		"a selector that trees do not take": {
			config.Empty + "scope: {namespaceSelector: {matchLabels: {a: b}}}\n", "trees of namespaces go by names alone",
		},
	} {
		_, _, err := standingBy(tt.text, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		}
	}
}

// Whatever a configuration looks like, it is changed in its part about trees alone,
// or not at all.
func FuzzStandingBy(f *testing.F) {
	for _, text := range []string{
		"hierarchy: {mode: Warn}", "# a\nhierarchy:\n# b\n  mode: Warn # c\n# d\n\nscope:\n  namespaces: [a]", "hierarchy:\n\n\n  standBy: true\n",
		"deletion:\n  mode: |\n    Warn\nhierarchy: {}\n", "hierarchy: &a {}\n", "\"hierarchy\": {}\n", "? hierarchy\n: mode: Warn\n",
		"scope:\n  namespaces:\n  - |\n    hierarchy:\n      mode: x\n", "hierarchy: {\n}\ndeletion: {}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = config.Empty + text
		before, err := loader.Load([]byte(text))
		if err != nil {
			return
		}
		out, _, err := standingBy(text, &configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: []string{"a"}})
		if err != nil {
			return
		}
		after, err := loader.Load([]byte(out))
		if err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if !after.Hierarchy.StandBy || after.Hierarchy.Mode == configv1alpha1.ModeOff {
			t.Errorf("%q became %q, which does not stand by", text, out)
		}
		after.Hierarchy = before.Hierarchy
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%q became %q (-before +after)\n%s", text, out, diff)
		}
		then, err := active(out)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if c, err := loader.Load([]byte(then)); err != nil || c.Hierarchy.StandBy {
			t.Errorf("%q became %q: %v", out, then, err)
		}
	})
}
