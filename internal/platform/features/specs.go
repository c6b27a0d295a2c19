// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"errors"
	"fmt"

	"k8s.io/component-base/featuregate"
)

// checkSpecs holds the gates to alpha off, beta on, generally available locked
// on, and refuses names that neither syntax of Parse could write.
func checkSpecs(specs map[featuregate.Feature]featuregate.VersionedSpecs) error {
	var errs []error
	for name, versions := range specs {
		if !isName(string(name)) {
			errs = append(errs, fmt.Errorf("register feature gate %q: the name must be letters and digits", name))
		}
		for i := range versions {
			if !followsRule(&versions[i]) {
				errs = append(errs, fmt.Errorf("register feature gate %q: %s in version %s must be %s",
					name, maturity(&versions[i]), versions[i].Version, rule(&versions[i])))
			}
		}
	}
	return errors.Join(errs...)
}

func followsRule(spec *featuregate.FeatureSpec) bool {
	switch spec.PreRelease {
	case featuregate.Alpha:
		return !spec.Default && !spec.LockToDefault
	case featuregate.Beta:
		return spec.Default && !spec.LockToDefault
	case featuregate.GA:
		return spec.Default && spec.LockToDefault
	default:
		return true
	}
}

func rule(spec *featuregate.FeatureSpec) string {
	switch spec.PreRelease {
	case featuregate.Alpha:
		return "off and not locked"
	case featuregate.Beta:
		return "on and not locked"
	default:
		return "on and locked"
	}
}

func maturity(spec *featuregate.FeatureSpec) string {
	if spec.PreRelease == featuregate.GA {
		return "generally available"
	}
	return string(spec.PreRelease)
}
