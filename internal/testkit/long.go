// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import "testing"

// Long leaves a test to "make test-all": "make test" has no time for it. It stands at the beginning of a test
// that is long by its nature, such as a random one, when a shorter test would see most changes that break it.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("this test is left to make test-all")
	}
}
