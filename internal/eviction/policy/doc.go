// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy decides what becomes of an eviction. It does no I/O: where a
// decision needs to know more, it says what, and is asked again with it.
package policy
