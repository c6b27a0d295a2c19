// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operators tests Holdfast beside the cluster operators of Strimzi and CloudNativePG. Each operator is a program
// with the identity, the rights and the requests of the original; the comments name the source of each fact. No container
// runs: the pods stay pending, which does not matter to admission.
package operators
