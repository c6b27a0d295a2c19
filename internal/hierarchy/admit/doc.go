// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admit is the part of the trees of namespaces that the API server asks, or
// runs itself.
//
// What can be told from the objects of a request is a policy, which holds while
// Holdfast is down: copies stay as they are, and so do the labels of namespaces that
// say where they stand. What needs the tree is a webhook. Those that guard the
// hierarchy itself, and the deletion of namespaces that visibly stand in a tree, fail
// closed; the others fail open, and match nothing that could not be refused. So with
// Holdfast down every other write in every namespace goes on.
//
// The decisions are those of package rules.
package admit
