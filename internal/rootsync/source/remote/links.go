// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// maxHops is how many links the look-up of one name may follow; Linux follows 40.
const maxHops = 64

// leaving is the first link of a tree that leads out of it, "" if there is none. The
// links are given by their real paths, so that no folder above one is a link itself.
// Where a link goes in circles it leads nowhere, and stays.
func leaving(links map[string]string) string {
	for _, from := range slices.Sorted(maps.Keys(links)) {
		if !staysInside(links, from) {
			return from
		}
	}
	return ""
}

// staysInside follows one link as the kernel does: a ".." is that of the folder to
// which the links before it lead, not of its name.
func staysInside(links map[string]string, from string) bool {
	var at []string
	if dir := path.Dir(from); dir != "." {
		at = strings.Split(dir, "/")
	}
	if path.IsAbs(links[from]) {
		return false
	}
	todo := strings.Split(links[from], "/")
	for hops := 1; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return false
			}
			at = at[:len(at)-1]
			continue
		}
		target, isLink := links[path.Join(path.Join(at...), next)]
		switch {
		case !isLink:
			at = append(slices.Clip(at), next)
		case path.IsAbs(target):
			return false
		case hops == maxHops:
			return true
		default:
			hops++
			todo = append(strings.Split(target, "/"), todo...)
		}
	}
	return true
}
