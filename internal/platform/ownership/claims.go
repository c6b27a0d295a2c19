// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxSize bounds the annotation, in bytes. All annotations of an object together
	// may have four times that.
	maxSize = 64 << 10

	// found begins the annotation of a namespace that was there before a RootSync
	// claimed it.
	found = "found"
)

// Claims are what is written on a namespace. They do not change; the zero value is
// none. A claimant has one claim at most.
type Claims struct {
	found bool
	list  []Claim // by claimant, which no later version can see another way
}

// Parse reads the annotation. It takes what String wrote and nothing else, so that
// nothing is lost or mended by being read and written back. Claims of kinds that
// this version does not know are read as well.
func Parse(annotation string) (Claims, error) {
	if annotation == "" {
		return Claims{}, nil
	}
	if len(annotation) > maxSize {
		return Claims{}, fmt.Errorf("it has %d bytes, more than %d", len(annotation), maxSize)
	}
	var out Claims
	items := strings.Split(annotation, separator)
	if items[0] == found {
		out.found, items = true, items[1:]
	}
	for i, item := range items {
		c, err := parseClaim(item)
		if err != nil {
			return Claims{}, fmt.Errorf("claim %d, %s: %w", i+1, quote(item), err)
		}
		if i > 0 && out.list[i-1].Claimant >= c.Claimant {
			return Claims{}, fmt.Errorf("claim %d, %s: claims are in the order of who claims, one for each", i+1, quote(item))
		}
		out.list = append(out.list, c)
	}
	if len(out.list) == 0 {
		return Claims{}, fmt.Errorf("%q without a claim", found)
	}
	return out, nil
}

// quote shows what may be long.
func quote(text string) string {
	const most = 100
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// New are the claims that a namespace is made with.
func New(claims ...Claim) Claims {
	var out Claims
	for _, c := range claims {
		out = out.With(c)
	}
	return out
}

// String is the annotation; empty if there is none to be.
func (c Claims) String() string {
	if len(c.list) == 0 {
		return ""
	}
	items := make([]string, 0, len(c.list)+1)
	if c.found {
		items = append(items, found)
	}
	for _, claim := range c.list {
		items = append(items, claim.String())
	}
	return strings.Join(items, separator)
}

// Found says whether the namespace was there before a RootSync claimed it.
func (c Claims) Found() bool { return c.found }

// All are the claims, by claimant.
func (c Claims) All() []Claim { return slices.Clone(c.list) }

// Of is the claim of a claimant.
func (c Claims) Of(claimant string) (Claim, bool) {
	if i, there := c.search(claimant); there {
		return c.list[i], true
	}
	return Claim{}, false
}

// With are the claims with one more, or with another one in its claimant's place.
func (c Claims) With(claim Claim) Claims {
	i, there := c.search(claim.Claimant)
	list := slices.Clone(c.list)
	if there {
		list[i] = claim
	} else {
		list = slices.Insert(list, i, claim)
	}
	return Claims{found: c.found, list: list}
}

// Without are the claims without that of a claimant.
func (c Claims) Without(claimant string) Claims {
	i, there := c.search(claimant)
	if !there {
		return c
	}
	return Claims{found: c.found, list: slices.Delete(slices.Clone(c.list), i, i+1)}
}

func (c Claims) search(claimant string) (int, bool) {
	return slices.BinarySearchFunc(c.list, claimant, func(c Claim, claimant string) int {
		return strings.Compare(c.Claimant, claimant)
	})
}
