// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package brake decides whether copies may go.
//
// A copy goes because somebody deleted what it was copied from, or said on it that
// it is not to be copied there, or took its kind out of the HNCConfiguration: then
// somebody meant it. Or it goes for another reason: a subtree that was moved, labels
// that were changed, an expression that was mistyped, a list that came back short. Of such
// removals the brake lets a few pass in a while. If more would go than the
// configuration allows, none goes until a person says so, with a word that stands
// for these very copies.
package brake
