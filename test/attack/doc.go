// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attack tries on one cluster, with all features on, what a user with few rights could gain through Holdfast.
package attack
