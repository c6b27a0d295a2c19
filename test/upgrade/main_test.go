// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMain shares no cluster: each test has one of its own.
func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }
