// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

// PatchingGate is the feature gate of seed 003. Without it an account gets what its
// template says when it is made, and stays as it is after that; an account that is
// there already is left alone.
const PatchingGate featuregate.Feature = "ServiceAccountPatching"

// PatchingSpecs are the phases of the gate, three releases each as in the seed:
//
//	phase | Holdfast      | Strimzi          | default
//	alpha | 0.1, 0.2, 0.3 | 0.24, 0.25, 0.26 | off
//	beta  | 0.4, 0.5, 0.6 | 0.27, 0.28, 0.29 | on, can be turned off
//	GA    | 0.7 and later | 0.30 and later   | on; a setting that is left over warns
//
// To emulate a later release of Holdfast tries the phase that it will bring.
var PatchingSpecs = featuregate.VersionedSpecs{
	{Version: version.MustParse("0.1"), Default: false, PreRelease: featuregate.Alpha},
	{Version: version.MustParse("0.4"), Default: true, PreRelease: featuregate.Beta},
	{Version: version.MustParse("0.7"), Default: true, LockToDefault: true, PreRelease: featuregate.GA},
}
