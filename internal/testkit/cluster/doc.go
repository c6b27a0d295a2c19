// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster gives tests a real Kubernetes control plane: etcd, API server and controller
// manager as processes of this machine, without a container engine and without a download other than
// Go modules. The processes are those of the nested module localcluster, which is built once and kept
// in a cache outside the work tree.
//
// The first build takes minutes, more than the time that go test grants a package by default: call
// Binary from a program of its own, such as a make target, before the first test. It works where there
// are process groups and file locks as Unix has them.
package cluster
