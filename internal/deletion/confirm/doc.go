// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package confirm looks, when a Namespace or a CustomResourceDefinition is to be
// deleted, at what hangs below it at that moment: a mark can be a moment behind
// the label that it follows. It is the only webhook of the deletion guard, and it
// matches nothing else.
//
// It fails closed unless the configuration says otherwise: while no replica of
// Holdfast answers, the deletion of a Namespace or CustomResourceDefinition is
// refused, and the users see the webhook's name, which says which annotation
// passes by it.
package confirm
