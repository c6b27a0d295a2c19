// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit gives tests a real cluster with Holdfast on it, and verbs to
// write them with.
package testkit
