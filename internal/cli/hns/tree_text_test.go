// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forestOf reads a forest from lines such as
//
//	a b c          a has the children b and c
//	b [s]          b is a subnamespace
//	c !InCycle:x   c has a condition of that reason, with the message x
//	d ?            d cannot be read
//	e -            e does not exist
//	f ^z           the parent of f is z, which does not know it
func forestOf(text string) forest {
	f := forest{}
	get := func(name string) *member {
		if f[name] == nil {
			f[name] = &member{name: name}
		}
		return f[name]
	}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		m := get(words[0])
		for _, word := range words[1:] {
			switch {
			case word == "[s]":
				m.subnamespace = true
			case word == "?":
				m.problem = "Error reading namespace " + m.name + ": forbidden"
			case word == "-":
				m.gone, m.problem = true, "Error reading namespace "+m.name+": not found"
			case word[0] == '^':
				m.parent = word[1:]
			case word[0] == '!':
				reason, message, _ := strings.Cut(word[1:], ":")
				m.conditions = append(m.conditions, metav1.Condition{Type: "T", Reason: reason, Message: message})
			default:
				m.children = append(m.children, word)
				get(word).parent = m.name
			}
		}
	}
	return f
}

func TestTreeText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, forest, show string
		onlyRoots          bool
		want               string
		wantProblems       []string
	}{
		{name: "one that is alone", forest: "a", show: "a", want: "a\n"},
		{name: "branches", forest: "a b c\nb d e\nc f", show: "a", want: `a
├── b
│   ├── d
│   └── e
└── c
    └── f
`},
		{name: "marks of subnamespaces but at the root", forest: "a [s] b c\nb [s]", show: "a", want: `a
├── [s] b
└── c

[s] indicates subnamespaces
`},
		{name: "a root with a mark and nothing below has no legend", forest: "a [s]", show: "a", want: "a\n"},
		{name: "conditions are numbered as they are met, each text once", forest: "a !R:x b c\nb !R:y !R:x\nc !R:y", show: "a", want: `a (1)
├── b (1,2)
└── c (2)

Conditions:
1) T (R): x
2) T (R): y
`},
		{name: "of a circle each is drawn alone", forest: "a !InCycle:ab b c\nb !InCycle:ab a", show: "a b", want: `a (1)
└── c
b (1)

Conditions:
1) T (InCycle): ab
`},
		{name: "a circle that no condition tells of ends all the same", forest: "a b\nb a", show: "a", want: `a
└── b
`},
		{name: "of all only roots are drawn, but with a circle each of it", forest: "a b\nc !InCycle:cd d\nd !InCycle:cd c", show: "a b c d", onlyRoots: true, want: `a
└── b
c (1)
d (1)

Conditions:
1) T (InCycle): cd
`},
		{name: "conditions are numbered in the order of names, wherever they are drawn", forest: "b !R:x\nc !R:y b", show: "b c", onlyRoots: true, want: `c (2)
└── b (1)

Conditions:
1) T (R): x
2) T (R): y
`},
		{name: "whom no parent has is a root", forest: "a\nb ^a\nc ^gone", show: "a b c", onlyRoots: true, want: "a\nb\nc\n"},
		{name: "what has gone is left out", forest: "a b c\nc -", show: "a", want: `a
└── b
`},
		{name: "a root that has gone is said, or left out where all are drawn", forest: "a -\nb", show: "a b", want: "Error reading namespace a: not found\nb\n"},
		{name: "of all a root that has gone is left out", forest: "a -\nb", show: "a b", onlyRoots: true, want: "b\n"},
		{name: "what cannot be read is drawn by its name, and said", forest: "a b c\nb ?", show: "a", want: `a
├── b
└── c
`, wantProblems: []string{"Error reading namespace b: forbidden"}},
		{name: "of all what cannot be read is no root, and said", forest: "a ?\nb", show: "a b", onlyRoots: true, want: "b\n",
			wantProblems: []string{"Error reading namespace a: forbidden"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := newTreeText(forestOf(tt.forest))
			for name := range strings.FieldsSeq(tt.show) {
				text.add(name, tt.onlyRoots)
			}
			if diff := cmp.Diff(tt.want, text.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantProblems, text.problems); diff != "" {
				t.Errorf("problems (-want +got)\n%s", diff)
			}
			if want := slices.ContainsFunc(strings.Fields(tt.show), func(n string) bool {
				return !tt.onlyRoots && text.forest[n].problem != ""
			}); text.failed != want {
				t.Errorf("failed: %v, want %v", text.failed, want)
			}
		})
	}
}
