// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hns is kubectl-hns, the kubectl plugin of HNC, as Holdfast has it: the
// commands, flags, exit codes and lines are those of HNC 1.1, because scripts
// read them. It needs nothing but the kinds of hnc.x-k8s.io, so it works on a
// cluster with HNC as well.
//
// Each command has a file with its options and its run function, and where it
// says more than a line another with the text, which is a pure function of what
// was read. What commands share is in client.go (the API server), hierarchy.go
// (the HierarchyConfiguration of one namespace), forest.go (those of many) and
// errors.go.
package hns
