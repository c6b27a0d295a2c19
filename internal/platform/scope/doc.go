// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope decides which namespaces are in: the one place where the global
// scope and the narrower ones of the features meet.
//
// A Scope is compiled once from any number of configured scopes, of which a
// namespace must be in every one. It then answers in process (Matches), and says
// the same in the API server's own terms (Selection), so that a namespace out of
// scope costs neither a call nor a webhook.
//
// Cluster-scoped objects are in every scope. The name of a namespace is a DNS
// label; for other text than that the answers mean nothing.
package scope
