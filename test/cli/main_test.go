// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }
