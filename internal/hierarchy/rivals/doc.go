// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rivals finds an HNC that lives beside Holdfast. Two that write the same
// namespaces and copies would undo each other's work without end, and HNC 1.1
// holds no lease by which it could be told. So Holdfast looks for what it runs as:
// Deployments, and webhook configurations that somebody answers for.
package rivals
