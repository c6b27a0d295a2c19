// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"
)

// Lists are in order, have nothing twice, and are copied before they change.

// rearranged returns a list with some names more and some less.
func rearranged(list, join, leave []string) []string {
	slices.Sort(join)
	slices.Sort(leave)
	out := make([]string, 0, len(list)+len(join))
	for _, name := range list {
		for len(join) > 0 && join[0] < name {
			out, join = append(out, join[0]), join[1:]
		}
		if len(leave) > 0 && leave[0] == name {
			leave = leave[1:]
			continue
		}
		out = append(out, name)
	}
	return append(out, join...)
}

func withName(list []string, name string) []string {
	if _, found := slices.BinarySearch(list, name); found {
		return list
	}
	return rearranged(list, []string{name}, nil)
}

func withoutName(list []string, name string) []string {
	return rearranged(list, nil, []string{name})
}

// anchor is one in a namespace.
type anchor struct {
	name string
	spec *anchorSpec
}

func findAnchor(list []anchor, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(a anchor, n string) int { return strings.Compare(a.name, n) })
}

func withAnchor(list []anchor, a anchor) []anchor {
	i, found := findAnchor(list, a.name)
	list = slices.Clone(list)
	if found {
		list[i] = a
		return list
	}
	return slices.Insert(list, i, a)
}

func withoutAnchor(list []anchor, name string) []anchor {
	i, found := findAnchor(list, name)
	if !found {
		return list
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}
