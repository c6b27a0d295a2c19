// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// backend is a kind of source. It is used by one goroutine. An error for which
// remote.IsContent holds stays until there is another commit.
type backend interface {
	// Poll asks the server what it has, as far as the targets go.
	Poll(ctx context.Context, targets []remote.Target) *knv.Error
	// Known says whether the last Poll has to do with a target.
	Known(t remote.Target) bool
	// Fixed says whether a target never changes, so that the server need not be asked.
	Fixed(t remote.Target) bool
	// Resolve is the commit of a target, by the last Poll.
	Resolve(ctx context.Context, t remote.Target) (commit string, err *knv.Error)
	// Export writes the files of a commit into a new folder.
	Export(ctx context.Context, t remote.Target, commit, dir string) *knv.Error
}

// unusable is a backend for what can be no source.
type unusable struct{ err *knv.Error }

func (u unusable) Poll(context.Context, []remote.Target) *knv.Error { return u.err }
func (unusable) Known(remote.Target) bool                           { return false }
func (unusable) Fixed(remote.Target) bool                           { return false }
func (u unusable) Resolve(context.Context, remote.Target) (string, *knv.Error) {
	return "", u.err
}

func (u unusable) Export(context.Context, remote.Target, string, string) *knv.Error { return u.err }
