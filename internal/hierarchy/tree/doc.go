// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree knows how namespaces stand above and below each other, and what
// follows for each of them: parent and children, tree labels, inherited labels
// and annotations, conditions, the states of its anchors.
//
// A Tree never changes. Apply makes another one from it and says for which
// namespaces something follows that did not before; so a webhook may hold on to
// a Tree while a controller makes the next, and neither waits for the other.
//
// Some words that all of it uses:
//
//   - A namespace is managed if the Settings say so by its name. Others have no
//     parent, and whoever names one as the parent is broken.
//   - A namespace is broken if its place in the tree cannot be told: its parent
//     is not there or not managed, or it is its own ancestor. What would come
//     from above ends there.
//   - A namespace is halted if it or an ancestor is broken: copies in it are
//     neither made nor changed nor taken away.
//
// A change costs the namespaces for which something follows, and the lists that
// stand in them; the others are not looked at.
package tree
