// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide says what a RootSync does about one object: by what is declared, what
// is known of the object, what it wrote last, and whose it may be.
package decide
