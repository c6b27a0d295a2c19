// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render makes of a directory in a source the files that declare objects: where
// there is a kustomization file, by kustomize; else by reading what is there.
//
// A source is somebody else's, and kustomize runs in this process. So it runs without
// plugins, without Helm, without the network, and on a file system that ends at the
// repository: "../../base" works, and what leads further does not, by whichever link.
// What it reads, what it makes and how long it takes is bounded. What it may do to
// memory is not in all its ways: a patch can double a text many times. That is one reason
// why syncs are a workload of their own.
//
// Kustomize keeps maps for the whole process, so builds run one after the other, and a
// build that does not end in time keeps its place until it does: a second one beside it
// could end the process. Those that wait for the place are told at once which build has it.
package render
