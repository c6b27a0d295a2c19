// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade tests that this version recognises what the first version wrote. Its folder testdata/first has all objects
// of a small cluster as the first version left them, so that no test has to build it. They were recorded on a local control
// plane, from a worktree of commit 79ed2321:
//
//	go build -C WORKTREE -o MANAGER ./cmd/holdfast-manager
//	go test -tags record -run TestRecord ./test/upgrade -first=WORKTREE -manager=MANAGER
package upgrade
