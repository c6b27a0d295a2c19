// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is kubectl-holdfast, the kubectl plugin for people. Each verb has
// a file with its options, its flags and its run function; what verbs share is
// in clients.go (the API server), targets.go and sweep.go (which objects) and
// enforcement.go (which rules are in force). What people are told is decided by
// the pure packages of the features, the same code that stands for the rules
// everywhere else.
//
// Called as kubectl-hns the binary is the plugin of package hns, whose commands are
// below "kubectl holdfast hns" too.
package cli
