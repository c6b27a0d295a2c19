// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"time"
)

// perEntry is what an entry costs without its files.
const perEntry = 512

// cache has the latest results, up to a number of bytes. It is not safe for concurrent
// use.
type cache struct {
	limit, used int
	entries     map[key]result
	// order is from the one not asked for the longest to the latest.
	order []key
}

func (c *cache) get(k key, now time.Time) (result, bool) {
	r, found := c.entries[k]
	if !found {
		return result{}, false
	}
	if !r.until.IsZero() && !now.Before(r.until) {
		c.drop(k)
		return result{}, false
	}
	c.order = append(slices.DeleteFunc(c.order, func(o key) bool { return o == k }), k)
	return r, true
}

// put keeps a result. One that is larger than all others may be together is not kept.
func (c *cache) put(k key, r result) {
	c.drop(k)
	if size(r) > c.limit {
		return
	}
	if c.entries == nil {
		c.entries = map[key]result{}
	}
	for c.used+size(r) > c.limit {
		c.drop(c.order[0])
	}
	c.entries[k] = r
	c.order = append(c.order, k)
	c.used += size(r)
}

func (c *cache) drop(k key) {
	r, found := c.entries[k]
	if !found {
		return
	}
	c.used -= size(r)
	delete(c.entries, k)
	c.order = slices.DeleteFunc(c.order, func(o key) bool { return o == k })
}

func size(r result) int {
	n := perEntry
	for _, f := range r.files {
		n += len(f.Path) + len(f.Data) + 64
	}
	if r.err != nil {
		n += len(r.err.Text)
	}
	return n
}
