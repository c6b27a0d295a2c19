// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
)

// stamp is the version that came of a write, and when.
type stamp struct {
	version string
	at      time.Time
}

func (k *Keeper) stamp(version string) stamp { return stamp{version, k.o.Clock.Now()} }

// behind says whether what the watch tells of an object is older than what was written to it a
// moment ago. The watch tells of that soon. For how long it is waited for is bounded: versions
// begin anew where etcd is restored.
func (k *Keeper) behind(last stamp, version string) bool {
	return k.o.Clock.Since(last.at) <= writeTimeout && resourceversion.Newer(last.version, version)
}
