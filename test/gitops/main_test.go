// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests what the apply engines of Argo CD and Flux make of refusals and of marks. It is a module of its
// own, so that Holdfast does not depend on these engines.
package gitops

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }
