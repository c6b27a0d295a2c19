// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adopt hands the trees of namespaces over from HNC to Holdfast, and back.
//
// A hand-over is a list of steps. Each looks first whether what it is for is so
// already, does what is missing, and waits until the cluster shows it. So whatever
// ends a hand-over, running it again goes on where it ended. What HNC was is kept in
// a ConfigMap beside Holdfast, for the way back.
//
// The steps are in adopt.go and back.go; each has a file of its own, and so has what
// they share: find.go (the HNC that is there), holdfast.go (what Holdfast says of
// itself), record.go (what is kept) and configuration.go (what Holdfast is told).
package adopt
