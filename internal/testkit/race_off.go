// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package testkit

// raceEnabled builds the race detector into the manager when the tests have it.
const raceEnabled = false
