// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package features

// Release is the release of Holdfast that this code is, as major.minor. It is
// what a gate's maturity is looked up by unless another version is emulated.
const Release = "0.1"
