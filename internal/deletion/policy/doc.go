// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy is the pure core of the deletion guard: what protects an
// object, and what a request may do to it. The rules themselves run inside the
// API server as ValidatingAdmissionPolicies (package deletion writes them); the
// functions here say the same in Go, so that people can be told why before and
// after the fact. A differential fuzz test against a real API server keeps the
// two equal.
package policy
