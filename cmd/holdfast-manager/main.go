// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Command holdfast-manager is Holdfast's server side.
package main

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/app"
)

func main() {
	os.Exit(app.Main())
}
