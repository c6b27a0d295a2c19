// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitserver is a real Git server on loopback: "git http-backend" behind
// net/http, and ssh. It counts what it is asked, and fails as it is told to. Tests, the
// demo and the bench use it.
package gitserver
