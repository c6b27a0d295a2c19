// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

const (
	// The first repairs are immediate. When they do not end, another writer owns
	// the same objects, and more writes only cost both.
	brakeBurst, brakeCalm = 10, 8
	brakePause            = 5 * time.Second
)

// textContested is the same in every process: two that both believe to lead would overwrite each other's status without end.
var textContested = fmt.Sprintf("two writers change the admission objects of Holdfast again and again, and each puts back its own every %s: the audit log names them. "+
	"If one is a Holdfast with another configuration, in another namespace or with --leader-elect=false, stop it", brakePause)

// brake slows repairs down that do not end.
type brake struct {
	limiter *rate.Limiter
	// contested reports whether they did not end lately. Of two writers one reaches its bound first, and the other repairs no more
	// often than that one then: half of the burst is enough to know.
	contested bool
}

func newBrake() *brake { return &brake{limiter: rate.NewLimiter(rate.Every(brakePause), brakeBurst)} }

// holds reports whether no repair may be made now.
func (b *brake) holds(now time.Time) bool { return b.limiter.TokensAt(now) < 1 }

// repaired counts a repair.
func (b *brake) repaired(now time.Time) {
	b.limiter.AllowN(now, 1)
	b.contested = b.contested || b.limiter.TokensAt(now) < brakeBurst/2
}

// calm reports whether no other writer contests the objects. A contest ends once most of the burst is available again.
func (b *brake) calm(now time.Time) bool {
	if b.limiter.TokensAt(now) >= brakeCalm {
		b.contested = false
	}
	return !b.contested
}
