// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

// Known is how many names are known.
func (t *Tree) Known() (n int) {
	for range t.nodes.All() {
		n++
	}
	return n
}
