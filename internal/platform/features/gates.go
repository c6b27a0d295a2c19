// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// Reader is what a feature sees of the gates.
type Reader interface {
	// Enabled says whether the gate is on. A gate that does not exist is off.
	Enabled(gate featuregate.Feature) bool
}

// Gates are the feature gates of one process. They are safe for concurrent use.
type Gates struct {
	// pristine has the gates and the emulated version, and nothing set.
	pristine featuregate.MutableVersionedFeatureGate
	specs    map[featuregate.Feature]featuregate.VersionedSpecs

	setting sync.Mutex
	// chosen is everything set so far.
	chosen map[string]bool
	// current is replaced, never changed: a setting that is refused leaves
	// nothing behind.
	current atomic.Pointer[featuregate.MutableVersionedFeatureGate]
}

// New returns gates with the given specs, as mature as they are in the emulated
// version, written major.minor; empty stands for Release. A later version than
// Release can be emulated too: it shows what the gates will be then. It is an
// error if a spec breaks the rule alpha off, beta on, generally available locked
// on.
func New(specs map[featuregate.Feature]featuregate.VersionedSpecs, emulated string) (*Gates, error) {
	if emulated == "" {
		emulated = Release
	}
	emulatedVersion, err := version.ParseMajorMinor(emulated)
	if err != nil {
		return nil, fmt.Errorf("read emulated version %q: %w: write it as major.minor, such as %s", emulated, err, Release)
	}
	if err := checkSpecs(specs); err != nil {
		return nil, err
	}
	pristine := featuregate.NewVersionedFeatureGate(emulatedVersion)
	if err := pristine.AddVersioned(specs); err != nil {
		return nil, fmt.Errorf("register feature gates: %w", err)
	}
	g := &Gates{pristine: pristine, specs: pristine.GetAllVersioned(), chosen: map[string]bool{}}
	fresh := pristine.DeepCopyAndReset()
	g.current.Store(&fresh)
	return g, nil
}

// Enabled implements Reader.
func (g *Gates) Enabled(gate featuregate.Feature) bool {
	if _, known := g.specs[gate]; !known {
		return false
	}
	return (*g.current.Load()).Enabled(gate)
}

// Apply sets the gates of the configuration file and then those of the flag,
// which goes before it, and takes back everything set before: a gate that has
// gone from the file has its default again. The warnings are sentences for the
// log. After an error nothing has changed.
func (g *Gates) Apply(file map[string]bool, flag string) (warnings []string, err error) {
	fromFlag, err := Parse(flag)
	if err != nil {
		return nil, fmt.Errorf("read --feature-gates: %w", err)
	}
	merged := map[string]bool{}
	maps.Copy(merged, file)
	maps.Copy(merged, fromFlag)
	return g.set(merged, false)
}

// Set sets gates from "A=true,B=false" or "+A,-B", see Parse.
func (g *Gates) Set(value string) (warnings []string, err error) {
	values, err := Parse(value)
	if err != nil {
		return nil, err
	}
	return g.SetFromMap(values)
}

// SetFromMap sets gates, over what was set before. A gate that is generally
// available stays on and is worth a warning, whatever it is set to: a setting
// that was right last year must not stop the process after an upgrade. A gate
// that is not known, or not yet in the emulated version, is an error, and
// nothing has changed.
func (g *Gates) SetFromMap(values map[string]bool) (warnings []string, err error) {
	return g.set(values, true)
}

func (g *Gates) set(values map[string]bool, keep bool) (warnings []string, err error) {
	warnings, err = g.Check(values)
	if err != nil {
		return nil, err
	}

	g.setting.Lock()
	defer g.setting.Unlock()
	chosen := map[string]bool{}
	if keep {
		maps.Copy(chosen, g.chosen)
	}
	for name, value := range values {
		if spec := g.spec(name); spec.PreRelease != featuregate.GA {
			chosen[name] = value
		}
	}
	// Set from the beginning: AllAlpha and AllBeta do not take back what an
	// earlier setting of theirs did.
	fresh := g.pristine.DeepCopyAndReset()
	if err := fresh.SetFromMap(chosen); err != nil {
		return nil, fmt.Errorf("set feature gates: %w", err)
	}
	g.chosen = chosen
	g.current.Store(&fresh)
	return warnings, nil
}

// Check says what SetFromMap would, and changes nothing.
func (g *Gates) Check(values map[string]bool) (warnings []string, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		spec := g.spec(name)
		switch {
		case spec == nil:
			errs = append(errs, fmt.Errorf("unknown feature gate %q: known are %s", name, strings.Join(g.Known(), ", ")))
		case spec.PreRelease == featuregate.PreAlpha:
			errs = append(errs, fmt.Errorf("feature gate %s does not exist in version %s: leave it out",
				name, g.pristine.EmulationVersion()))
		case spec.PreRelease == featuregate.GA:
			warnings = append(warnings, fmt.Sprintf("feature gate %s is generally available and always on, "+
				"%s=%t has no effect: leave it out", name, name, values[name]))
		case spec.PreRelease == featuregate.Deprecated:
			warnings = append(warnings, fmt.Sprintf("feature gate %s is deprecated and will be removed: leave it out", name))
		}
	}
	return warnings, errors.Join(errs...)
}

// Known returns the names of all gates, sorted, AllAlpha and AllBeta with them.
func (g *Gates) Known() []string {
	names := make([]string, 0, len(g.specs))
	for name := range g.specs {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// spec returns the spec of the gate in the emulated version: one that is
// PreAlpha if it does not exist yet, nil if the gate is not known at all.
func (g *Gates) spec(name string) *featuregate.FeatureSpec {
	if _, known := g.specs[featuregate.Feature(name)]; !known {
		return nil
	}
	spec, exists := g.pristine.GetAll()[featuregate.Feature(name)]
	if !exists {
		return &featuregate.FeatureSpec{PreRelease: featuregate.PreAlpha}
	}
	return &spec
}
