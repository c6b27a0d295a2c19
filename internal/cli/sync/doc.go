// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sync is "kubectl holdfast sync": how RootSyncs are doing, whose an object is,
// and whether a folder can be synced.
//
// Each command has a file with its options and its run function. What is said of a
// RootSync, an object or a folder is a pure function of what was read: state.go and
// problem.go say how a RootSync is doing, origin.go where an object comes from, and
// findings.go what is wrong in a folder. What commands share is in client.go (the API
// server), follow.go (until something is so) and errors.go.
//
// It reads and writes the RootSyncs of Config Sync as well, except for what Config Sync
// does not know: to sync at once and to suspend.
package sync
