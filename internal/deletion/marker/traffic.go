// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import "github.com/holdfast-dev/holdfast/internal/platform/inventory"

type traffic struct{}

func (m *Marker) usedByTraffic(inventory.Kind, *known) bool { return false }
