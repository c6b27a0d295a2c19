// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package features_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"

	"github.com/holdfast-dev/holdfast/internal/platform/features"
)

const (
	older  featuregate.Feature = "Older"
	newer  featuregate.Feature = "Newer"
	future featuregate.Feature = "Future"
)

func spec(at string, maturity featuregate.FeatureSpec) featuregate.FeatureSpec {
	maturity.Version = version.MustParseMajorMinor(at)
	return maturity
}

var (
	alpha = featuregate.FeatureSpec{PreRelease: featuregate.Alpha}
	beta  = featuregate.FeatureSpec{PreRelease: featuregate.Beta, Default: true}
	ga    = featuregate.FeatureSpec{PreRelease: featuregate.GA, Default: true, LockToDefault: true}
)

// sample has a gate for each maturity at version 0.3, and one yet to come.
func sample() map[featuregate.Feature]featuregate.VersionedSpecs {
	return map[featuregate.Feature]featuregate.VersionedSpecs{
		older:  {spec("0.1", alpha), spec("0.2", beta), spec("0.3", ga)},
		newer:  {spec("0.2", alpha), spec("0.3", beta)},
		future: {spec("0.3", alpha), spec("0.4", beta)},
	}
}

func newGates(t *testing.T, emulated string) *features.Gates {
	t.Helper()
	gates, err := features.New(sample(), emulated)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return gates
}

func TestGates_maturity(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		emulated string
		want     []bool // Older, Newer, Future
	}{
		{name: "nothing exists before its first version", emulated: "0.0", want: []bool{false, false, false}},
		{name: "the release is emulated when nothing else is said", want: []bool{false, false, false}},
		{name: "alpha is off and beta is on", emulated: "0.2", want: []bool{true, false, false}},
		{name: "what is generally available stays on", emulated: "0.3", want: []bool{true, true, false}},
		{name: "a version to come can be tried", emulated: "0.4", want: []bool{true, true, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gates := newGates(t, test.emulated)
			got := []bool{gates.Enabled(older), gates.Enabled(newer), gates.Enabled(future)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("enabled (-want +got):\n%s", diff)
			}
			if gates.Enabled("Unknown") {
				t.Error("a gate that does not exist is on")
			}
		})
	}
}

func TestGates_Apply(t *testing.T) {
	t.Parallel()
	const gaWarning = "feature gate Older is generally available and always on, Older=%s has no effect: leave it out"
	tests := []struct {
		name         string
		file         map[string]bool
		flag         string
		want         []bool // Older, Newer, Future
		wantWarnings []string
		wantErr      string
	}{
		{name: "nothing set leaves the defaults", want: []bool{true, true, false}},
		{name: "the file sets gates", file: map[string]bool{"Newer": false, "Future": true}, want: []bool{true, false, true}},
		{name: "the flag sets gates", flag: "Newer=false,Future=true", want: []bool{true, false, true}},
		{name: "the strict form sets gates", flag: "-Newer,+Future", want: []bool{true, false, true}},
		{name: "the flag goes before the file", file: map[string]bool{"Newer": false}, flag: "+Newer", want: []bool{true, true, false}},
		{
			name: "a gate that is generally available warns", flag: "+Older",
			want: []bool{true, true, false}, wantWarnings: []string{strings.ReplaceAll(gaWarning, "%s", "true")},
		},
		{
			name: "a gate that is generally available warns and stays on when it is turned off",
			file: map[string]bool{"Older": false, "Newer": false},
			want: []bool{true, false, false}, wantWarnings: []string{strings.ReplaceAll(gaWarning, "%s", "false")},
		},
		{name: "all alpha gates at once", flag: "AllAlpha=true", want: []bool{true, true, true}},
		{name: "a single gate goes before all", flag: "AllAlpha=true,Future=false", want: []bool{true, true, false}},
		{
			name: "all alpha gates of the file are taken back by the flag",
			file: map[string]bool{"AllAlpha": true}, flag: "-AllAlpha", want: []bool{true, true, false},
		},
		{
			name: "an unknown gate is refused, with the known ones, and nothing is set",
			file: map[string]bool{"Newer": false}, flag: "+Neuer", want: []bool{true, true, false},
			wantErr: `unknown feature gate "Neuer": known are AllAlpha, AllBeta, Future, Newer, Older`,
		},
		{
			name: "a flag that cannot be read is refused, and nothing is set",
			file: map[string]bool{"Newer": false}, flag: "Newer", want: []bool{true, true, false},
			wantErr: `read --feature-gates: "Newer" is no feature gate setting: write every item as Name=true or Name=false, ` +
				"or every item as +Name or -Name",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gates := newGates(t, "0.3")
			warnings, err := gates.Apply(test.file, test.flag)
			if diff := cmp.Diff(test.wantErr, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantWarnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			got := []bool{gates.Enabled(older), gates.Enabled(newer), gates.Enabled(future)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("enabled (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGates_Set_again(t *testing.T) {
	t.Parallel()
	gates := newGates(t, "0.3")
	for _, value := range []string{"+AllAlpha,-Newer", "AllAlpha=false"} {
		if _, err := gates.Set(value); err != nil {
			t.Fatalf("set %s: %v", value, err)
		}
	}
	if gates.Enabled(future) || gates.Enabled(newer) {
		t.Error("want AllAlpha taken back and the earlier -Newer kept")
	}
}

func TestGates_Apply_again(t *testing.T) {
	t.Parallel()
	gates := newGates(t, "0.3")
	for _, file := range []map[string]bool{{"Newer": false, "AllAlpha": true}, {}} {
		if _, err := gates.Apply(file, ""); err != nil {
			t.Fatalf("apply %v: %v", file, err)
		}
	}
	if gates.Enabled(future) || !gates.Enabled(newer) {
		t.Error("want the default of a gate that has gone from the file")
	}
}

func TestGates_Check_ofAnEmulatedVersion(t *testing.T) {
	t.Parallel()
	gates := newGates(t, "0.1")
	_, err := gates.Check(map[string]bool{"Newer": true, "Missing": true})
	want := `unknown feature gate "Missing": known are AllAlpha, AllBeta, Future, Newer, Older` +
		"\nfeature gate Newer does not exist in version 0.1: leave it out"
	if diff := cmp.Diff(want, message(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if warnings, err := gates.Set("-Older"); err != nil || len(warnings) > 0 {
		t.Errorf("a gate that is alpha in the emulated version: warnings %v, error %v", warnings, err)
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	locked := alpha
	locked.LockToDefault = true
	off := featuregate.FeatureSpec{PreRelease: featuregate.GA}
	tests := []struct {
		name     string
		specs    map[featuregate.Feature]featuregate.VersionedSpecs
		emulated string
		want     string
	}{
		{name: "a version that is none", emulated: "next", want: "write it as major.minor, such as 0.1"},
		{
			name:  "an alpha gate that is locked",
			specs: map[featuregate.Feature]featuregate.VersionedSpecs{"A": {spec("0.1", locked)}},
			want:  `register feature gate "A": ALPHA in version 0.1 must be off and not locked`,
		},
		{
			name: "a beta gate that is off",
			specs: map[featuregate.Feature]featuregate.VersionedSpecs{
				"A": {spec("0.1", featuregate.FeatureSpec{PreRelease: featuregate.Beta})},
			},
			want: `register feature gate "A": BETA in version 0.1 must be on and not locked`,
		},
		{
			name:  "a generally available gate that is off",
			specs: map[featuregate.Feature]featuregate.VersionedSpecs{"A": {spec("0.1", off)}},
			want:  `register feature gate "A": generally available in version 0.1 must be on and locked`,
		},
		{
			name:  "a name that the syntax cannot write",
			specs: map[featuregate.Feature]featuregate.VersionedSpecs{"A-B": {spec("0.1", alpha)}},
			want:  `register feature gate "A-B": the name must be letters and digits`,
		},
		{
			name:  "maturity that goes back",
			specs: map[featuregate.Feature]featuregate.VersionedSpecs{"A": {spec("0.1", beta), spec("0.2", alpha)}},
			want:  "register feature gates: ",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := features.New(test.specs, test.emulated); !strings.Contains(message(err), test.want) {
				t.Errorf("error %q does not say %q", message(err), test.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const wantSigns = ` is no feature gate setting: write every item as +Name or -Name, with commas between them`
	const wantEither = ` is no feature gate setting: write every item as Name=true or Name=false, or every item as +Name or -Name`
	tests := []struct {
		name    string
		value   string
		want    map[string]bool
		wantErr string
	}{
		{name: "empty is none", want: map[string]bool{}},
		{name: "blank is none", value: " \t", want: map[string]bool{}},
		{name: "assignments", value: "A=true,B=false", want: map[string]bool{"A": true, "B": false}},
		{name: "assignments with blanks and empty items", value: " A = true ,, B=0,", want: map[string]bool{"A": true, "B": false}},
		{name: "an assignment twice with one value", value: "A=true,A=1", want: map[string]bool{"A": true}},
		{name: "an assignment twice with two values", value: "A=true,A=false", wantErr: "feature gate A is set both true and false: keep one"},
		{name: "an assignment without a value", value: "A", wantErr: `"A"` + wantEither},
		{name: "an assignment of something else", value: "A=on", wantErr: `"A=on"` + wantEither},
		{name: "an assignment to nothing", value: "=true", wantErr: `"=true"` + wantEither},
		{name: "signs", value: "+A,-B", want: map[string]bool{"A": true, "B": false}},
		{name: "signs with blanks around the items", value: " +A , -B ", want: map[string]bool{"A": true, "B": false}},
		{name: "a sign without a name", value: "+", wantErr: `"+"` + wantSigns},
		{name: "a sign apart from its name", value: "+ A", wantErr: `"+ A"` + wantSigns},
		{name: "two signs", value: "+-A", wantErr: `"+-A"` + wantSigns},
		{name: "a comma at the end of signs", value: "+A,", wantErr: `""` + wantSigns},
		{name: "an empty item among signs", value: "+A,,-B", wantErr: `""` + wantSigns},
		{name: "an item without a sign among signs", value: "A,-B", wantErr: `"A"` + wantSigns},
		{name: "the two forms mixed", value: "A=true,-B", wantErr: `"A=true"` + wantSigns},
		{name: "a sign and an assignment in one", value: "+A=true", wantErr: `"+A=true"` + wantSigns},
		{name: "a name with an underscore", value: "+A_B", wantErr: `"+A_B"` + wantSigns},
		{name: "one gate twice with one sign", value: "+A,+A", wantErr: "feature gate A stands more than once: keep one"},
		{name: "one gate twice with both signs", value: "+A,-A", wantErr: "feature gate A stands more than once: keep one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := features.Parse(test.value)
			if diff := cmp.Diff(test.wantErr, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParse writes what was read in both forms and reads it again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "A=true,B=false", "+A,-B", " +A , -B", "+A,", "A=true,-B", ",,A=T"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		values, err := features.Parse(value)
		if err != nil {
			if values != nil {
				t.Errorf("values %v beside an error", values)
			}
			return
		}
		var strict, assigned []string
		for name, on := range values {
			sign, text := "-", "=false"
			if on {
				sign, text = "+", "=true"
			}
			strict = append(strict, sign+name)
			assigned = append(assigned, name+text)
		}
		for _, written := range []string{strings.Join(strict, ","), strings.Join(assigned, ",")} {
			again, err := features.Parse(written)
			if err != nil || !maps.Equal(values, again) {
				t.Errorf("%q was read as %v, %q as %v, %v", value, values, written, again, err)
			}
		}
	})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
