// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/holdfast-dev/holdfast/internal/testkit/nested"

// ModuleRoot returns the folder of the Holdfast checkout that the working directory is in.
func ModuleRoot() (string, error) { return nested.Root() }

// CacheDir returns the folder for what is built once and kept: HOLDFAST_CACHE, or holdfast in the user's
// cache folder.
func CacheDir() (string, error) { return nested.Cache() }
