// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/rootsync/occupants"
)

// occupants are the workloads in a namespace that nobody has declared. It asks as Holdfast,
// because what a RootSync acts as may not see them.
func (s *Syncer) occupants(ctx context.Context, namespace string) ([]string, error) {
	if !*s.o.config().Claims {
		return nil, nil
	}
	return occupants.Of(ctx, s.o.Metadata, namespace)
}
