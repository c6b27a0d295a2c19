// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owner says whose an object is, and each of its fields.
//
// Facts are what is known of an object: look.go reads them, and what may not be read is
// a gap beside the rest. Of, in owner.go, makes of them what is said, and is pure:
// answer.go finds the owner, tree.go reads the marks of trees, and text.go is for
// people. Who keeps an object from Git is told by the package sync, and whose a namespace
// is by platform/ownership, as everywhere else.
package owner
