// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preview finds out what the next sync of a RootSync would change, and writes
// nothing.
//
// It decides as the engine does, by the same functions (rootsync/decide, plan,
// namespaces), but for what only the process knows that syncs: what other RootSyncs
// declare is taken from their inventories and from the marks on namespaces. What would
// be written is given to the API server as a dry run, in the name of the user.
//
// input.go is what is known at the beginning; spaces.go says whose the namespaces are,
// declared.go and undeclared.go go through the objects, api.go asks the API server, and
// text.go shows a change.
package preview
