// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hierarchy keeps namespaces in trees, as the Hierarchical Namespace
// Controller did (seed 004; the kinds of hnc.x-k8s.io): objects are copied down
// from a namespace to those below, and who may change a tree is decided in it.
//
// The packages below it each do one thing: settings reads the configuration, tree
// knows how namespaces stand, propagate what is copied where, rules what is
// allowed; these are pure. World follows the API server, keep writes to it, and
// admit answers it.
package hierarchy
