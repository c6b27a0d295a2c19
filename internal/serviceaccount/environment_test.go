// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/featuregate"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/features"
)

func TestParseFeatureGates(t *testing.T) {
	t.Parallel()
	const a, b = "ServiceAccountPatching", "UseKRaft"
	on, off, both := map[string]bool{a: true}, map[string]bool{a: false}, map[string]bool{a: true, b: false}
	invalid := func(text string) string { return text + " is not a valid feature gate configuration" }
	tests := []struct {
		name, text string
		want       map[string]bool
		err        string
	}{
		{name: "nothing", text: ""},
		{name: "blanks", text: " \t\n "},
		{name: "a gate that is on", text: "+" + a, want: on},
		{name: "a gate that is off", text: "-" + a, want: off},
		{name: "two gates", text: "+" + a + ",-" + b, want: both},
		{name: "two gates in the other order", text: "-" + b + ",+" + a, want: both},
		{name: "spaces around the items", text: "  +" + a + " ,\t-" + b + "\n", want: both},
		{name: "a missing sign", text: a, err: invalid(a)},
		{name: "a missing sign on the second", text: "+" + a + "," + b, err: invalid("+" + a + "," + b)},
		{name: "a sign alone", text: "+", err: invalid("+")},
		{name: "a comma at the end", text: "+" + a + ",", err: invalid("+" + a + ",")},
		{name: "two commas", text: "+" + a + ",,-" + b, err: invalid("+" + a + ",,-" + b)},
		{name: "a sign apart from its gate", text: "+ " + a, err: invalid("+ " + a)},
		{name: "a name with an underscore", text: "+Service_Account", err: invalid("+Service_Account")},
		{name: "the syntax of Kubernetes", text: a + "=true", err: invalid(a + "=true")},
		{name: "spaces around what is not valid are not told", text: " X ", err: invalid("X")},
		{name: "a gate that does not exist", text: "+RandomGate", err: "Unknown feature gate RandomGate found in the configuration"},
		{name: "a gate in other case", text: "+serviceAccountPatching", err: "Unknown feature gate serviceAccountPatching found in the configuration"},
		{name: "a gate twice with the same value", text: "+" + a + ",+" + a, err: "Feature gate " + a + " is configured multiple times"},
		{name: "a gate twice with different values", text: "+" + a + ",-" + a, err: "Feature gate " + a + " is configured multiple times"},
		{name: "the first mistake is told", text: "+RandomGate,+" + a + ",-" + a, err: "Unknown feature gate RandomGate found in the configuration"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseFeatureGates(test.text)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != test.err {
				t.Errorf("error %q, want %q", message, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseFeatureGates_knowsAllOfStrimzi(t *testing.T) {
	t.Parallel()
	for _, name := range strimziGates {
		if got, err := parseFeatureGates("-" + name); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestReadEnvironment(t *testing.T) {
	t.Parallel()
	const gates, exclusion = "STRIMZI_FEATURE_GATES", "STRIMZI_LABELS_EXCLUSION_PATTERN"
	tests := []struct {
		name, file string
		env        map[string]string
		gates      map[string]bool
		exclusion  string
		notes      []string
		err        string
	}{
		{name: "nothing set leaves the defaults", exclusion: configv1alpha1.DefaultLabelsExclusionPattern},
		{
			name: "the gate goes before the file, and leaves its other gates", file: "featureGates: {ServiceAccountPatching: false, Other: true}",
			env:       map[string]string{gates: "+ServiceAccountPatching"},
			gates:     map[string]bool{"ServiceAccountPatching": true, "Other": true},
			exclusion: configv1alpha1.DefaultLabelsExclusionPattern,
		},
		{
			name: "gates about other parts of Strimzi are told", env: map[string]string{gates: "-UseKRaft,-ServiceAccountPatching,+UseStrimziPodSets"},
			gates: map[string]bool{"ServiceAccountPatching": false}, exclusion: configv1alpha1.DefaultLabelsExclusionPattern,
			notes: []string{
				"UseKRaft in STRIMZI_FEATURE_GATES has no effect: it is about other parts of Strimzi",
				"UseStrimziPodSets in STRIMZI_FEATURE_GATES has no effect: it is about other parts of Strimzi",
			},
		},
		{name: "a gate that does not exist stops the start", env: map[string]string{gates: "+X"}, err: "STRIMZI_FEATURE_GATES: Unknown feature gate X found in the configuration"},
		{
			name: "the pattern goes before the file", file: "serviceAccounts: {strimzi: {labelsExclusionPattern: a}}",
			env: map[string]string{exclusion: "^b(?!c).*"}, exclusion: "^b(?!c).*",
		},
		{name: "an empty pattern excludes nothing", env: map[string]string{exclusion: ""}, exclusion: ""},
		{
			name: "a pattern that is none stops the start", env: map[string]string{exclusion: "("},
			err: "STRIMZI_LABELS_EXCLUSION_PATTERN: \"(\" must be a regular expression: error parsing regexp: missing closing ) in `(`",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			env, err := ReadEnvironment(func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
			if err != nil || test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			for range 2 { // an override does the same on every load
				got, err := config.Loader{Overrides: env.Overrides}.Load([]byte(config.Empty + test.file + "\n"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.gates, got.FeatureGates); diff != "" {
					t.Errorf("gates (-want +got):\n%s", diff)
				}
				if got := *got.ServiceAccounts.Strimzi.LabelsExclusionPattern; got != test.exclusion {
					t.Errorf("pattern %q, want %q", got, test.exclusion)
				}
			}
			if diff := cmp.Diff(test.notes, env.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatchingGate_phases(t *testing.T) {
	t.Parallel()
	const left = "feature gate ServiceAccountPatching is generally available and always on, ServiceAccountPatching=false has no effect: leave it out"
	tests := []struct {
		name, emulated, set string
		want                bool
		warnings            []string
	}{
		{name: "alpha is off", emulated: "0.1"},
		{name: "the third release of alpha is off", emulated: "0.3"},
		{name: "alpha can be turned on", emulated: "0.3", set: "+ServiceAccountPatching", want: true},
		{name: "beta is on", emulated: "0.4", want: true},
		{name: "the third release of beta is on", emulated: "0.6", want: true},
		{name: "beta can be turned off", emulated: "0.6", set: "-ServiceAccountPatching"},
		{name: "GA is on", emulated: "0.7", want: true},
		{name: "a setting left over from before GA warns", emulated: "0.7", set: "-ServiceAccountPatching", want: true, warnings: []string{left}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gates, err := features.New(map[featuregate.Feature]featuregate.VersionedSpecs{PatchingGate: PatchingSpecs}, test.emulated)
			if err != nil {
				t.Fatal(err)
			}
			warnings, err := gates.Apply(nil, test.set)
			if err != nil {
				t.Fatal(err)
			}
			if got := gates.Enabled(PatchingGate); got != test.want {
				t.Errorf("enabled %t, want %t", got, test.want)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParseFeatureGates holds that what is read was written with one sign and known
// names, each once.
func FuzzParseFeatureGates(f *testing.F) {
	for _, seed := range []string{"+ServiceAccountPatching", " -UseKRaft , +UseStrimziPodSets", "+A,", "+ A", ",", "\v+UseKRaft\f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseFeatureGates(text)
		if err != nil && got != nil {
			t.Errorf("%v beside an error", got)
		}
		items := 0
		for _, r := range text {
			if r == '+' || r == '-' {
				items++
			}
		}
		if err == nil && len(got) != items {
			t.Errorf("%q was read as %v", text, got)
		}
	})
}
