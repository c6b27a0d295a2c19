// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resourceversion compares the versions of an object, or of objects of one resource.
package resourceversion

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer says whether one version comes after another; false where that cannot be told, as with
// some extension API servers: the watch tells the rest soon.
func Newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
