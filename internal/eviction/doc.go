// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package eviction is the guard for evictions: it lets the operator of a pod move
// it, in place of whoever drains a node. It does what the Strimzi Drain Cleaner
// does (seed 000), and the same for other operators by EvictionPolicies.
//
// Its rooms:
//
//   - policy decides, without I/O;
//   - review is the form of questions and answers;
//   - progress says, without I/O, what to report about an Eviction of the API group
//     lifecycle.k8s.io, and responder does that, behind a feature gate;
//   - this package answers the webhook, does what a verdict asks for, and keeps
//     the status of policies.
package eviction
