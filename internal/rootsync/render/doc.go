// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render makes of a directory in a source the files that declare objects: where
// there is a kustomization file, by kustomize; else by reading what is there.
//
// A source is somebody else's. So kustomize runs without plugins, without Helm, without
// the network, and on a file system that ends at the repository: "../../base" works, and
// what leads further does not, by whichever link. What it reads, what it makes and how
// long it takes is bounded. What it does to memory can not be bounded within a process: a
// patch can double a text many times. So the sync has each build done by a process of its
// own (Options.Program), which is ended when it takes too much or too long.
//
// Without a program kustomize runs in this process. It keeps maps for the whole of it, so
// builds run one after the other, and a build that does not end in time keeps its place
// until it does: a second one beside it could end the process. Those that wait for the
// place are told at once which build has it. Builds in processes of their own take turns
// as well, so that what they may take counts once.
package render
