// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kwok gives a local control plane nodes without machines: kwok plays the nodes and their
// kubelets. Nodes become Ready, pods that are bound to them become Running and Ready, and pods that are
// deleted end, as kubectl drain and controllers expect it. No container runs anywhere.
//
// The program is the nested module kwok, which is built once and kept in the cache outside the work tree.
package kwok
