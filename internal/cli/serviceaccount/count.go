// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
)

// Count says what turning service accounts on would do in the whole cluster, in numbers.
func Count(ctx context.Context, c *connect.Clients) (Summary, []Gap, error) {
	l, err := newLooker(c)
	if err != nil {
		return Summary{}, nil, err
	}
	seen, err := l.look(ctx, "", "")
	if err != nil {
		return Summary{}, nil, err
	}
	p := planOf(seen, "")
	return p.Summary, p.NotLookedAt, nil
}
