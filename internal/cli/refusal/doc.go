// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal takes an answer of the API server apart that says no: who has refused,
// in which words, whether that was Holdfast, and what can be done about it. It knows the
// forms of the API server; what Holdfast's own texts mean is read by the packages that
// write them.
package refusal
