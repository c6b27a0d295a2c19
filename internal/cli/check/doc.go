// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check says of a cluster, before and after Holdfast is installed, what is missing,
// who else guards it, and what each feature would do there now. It only reads. Facts are
// read first, as far as one may; what follows from them is decided by pure functions.
package check
