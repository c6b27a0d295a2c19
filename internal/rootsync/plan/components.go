// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// components are the sets of objects that need each other: the strongly connected
// components of the graph that have an edge inside, by Tarjan's algorithm.
func (g *Graph) components(ids []object.ID) [][]object.ID {
	s := &search{g: g, index: map[object.ID]int{}, low: map[object.ID]int{}, on: map[object.ID]bool{}}
	for _, id := range ids {
		if s.index[id] == 0 {
			s.visit(id)
		}
	}
	return s.found
}

type search struct {
	g          *Graph
	index, low map[object.ID]int
	stack      []object.ID
	on         map[object.ID]bool
	found      [][]object.ID
}

func (s *search) visit(id object.ID) {
	n := len(s.index) + 1
	s.index[id], s.low[id] = n, n
	s.stack, s.on[id] = append(s.stack, id), true
	for _, to := range s.g.needs[id] {
		if s.index[to] == 0 {
			s.visit(to)
			s.low[id] = min(s.low[id], s.low[to])
		} else if s.on[to] {
			s.low[id] = min(s.low[id], s.index[to])
		}
	}
	if s.low[id] != n {
		return
	}
	at := slices.Index(s.stack, id)
	set := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, one := range set {
		s.on[one] = false
	}
	if len(set) > 1 || slices.Contains(s.g.needs[id], id) {
		s.found = append(s.found, set)
	}
}
