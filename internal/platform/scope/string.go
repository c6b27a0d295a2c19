// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// maxListed is how many names or patterns of a list are printed.
const maxListed = 12

// String says in one line, for people, which namespaces are in. Not for
// machines: long lists are cut short.
func (s Scope) String() string {
	switch {
	case len(s.parts) == 0:
		return "all namespaces"
	case s.names == nil:
		described := make([]string, 0, len(s.parts))
		for i := range s.parts {
			described = append(described, s.parts[i].describe(i == 0))
		}
		return strings.Join(described, "; of these ")
	case len(s.names) == 0:
		return "no namespace"
	}

	var line strings.Builder
	line.WriteString(listed("namespace ", "namespaces ", sets.List(s.names)))
	for i := range s.parts {
		line.WriteString(s.parts[i].describeLabels())
	}
	return line.String()
}

func (p *part) describe(first bool) string {
	line := "all"
	if first {
		line = "all namespaces"
	}
	if !p.selected.empty() {
		line = listed("", "", p.selected.texts())
		if first {
			line = listed("namespaces ", "namespaces ", p.selected.texts())
		}
	}
	if !p.excluded.empty() {
		line += listed(" except ", " except ", p.excluded.texts())
	}
	return line + p.describeLabels()
}

func (p *part) describeLabels() string {
	if p.labels.Empty() {
		return ""
	}
	return " labelled " + p.labels.String()
}

func (s *patternSet) texts() []string {
	texts := sets.New(s.exact.UnsortedList()...)
	for i := range s.patterns {
		texts.Insert(s.patterns[i].text)
	}
	return sets.List(texts)
}

func listed(one, many string, items []string) string {
	if len(items) == 1 {
		return one + items[0]
	}
	if len(items) > maxListed {
		return fmt.Sprintf("%s%s and %d more", many, strings.Join(items[:maxListed], ", "), len(items)-maxListed)
	}
	return many + strings.Join(items, ", ")
}
