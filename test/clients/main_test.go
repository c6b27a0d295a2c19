// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clients tests what other tools make of a refusal: what their users
// read, and where it leaves them. It is a module of its own, so that Holdfast
// does not depend on these tools.
package clients

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }
