// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "path/filepath"

// ModuleRoot returns the folder of the Holdfast checkout that the working directory is in.
func ModuleRoot() (string, error) {
	source, err := findSource()
	return filepath.Dir(source), err
}

// CacheDir returns the folder for what is built once and kept: HOLDFAST_CACHE, or holdfast in the user's
// cache folder.
func CacheDir() (string, error) { return cacheDir() }
