// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Action is what should become of the object of a key in a namespace.
type Action string

const (
	// Leave says to do nothing, whatever is there.
	Leave Action = "Leave"
	// Copy says that there should be a copy of the Source.
	Copy Action = "Copy"
	// Remove says that there should be no copy. What is there and is none stays.
	Remove Action = "Remove"
)

// Verdict is what should become of the object of a key in a namespace.
type Verdict struct {
	Action Action
	// Source that is to be copied, or that is held or withheld.
	Source *Source
	// Reason is why a RoleBinding is withheld; "" for everything else.
	Reason Reason
}

// Decide says what should become of the object of a key in a namespace. Of several
// sources above it the top-most that is eligible wins, and takes the place of a
// source in the namespace itself. A RoleBinding that refers to a Role is withheld
// where it would not grant what its source grants.
func (s *Sources) Decide(t *tree.Tree, k Key, namespace string, roles Roles) Verdict {
	o := t.Get(namespace)
	mode := s.rules.Mode(k.Kind)
	switch {
	case o == nil || !o.Managed || o.Terminating || o.Halted() || mode == hncv1alpha2.ModeIgnore:
		return Verdict{Action: Leave}
	case mode == hncv1alpha2.ModeRemove:
		return Verdict{Action: Remove}
	}
	source := s.winner(t, k, namespace, mode, o.Labels)
	switch {
	case source == nil:
		return Verdict{Action: Remove}
	case source.Role != "": // also if it is held: nobody keeps a copy that way when its Role goes
		return s.bind(t, source, namespace, roles)
	case source.Held:
		return Verdict{Action: Leave, Source: source}
	}
	return Verdict{Action: Copy, Source: source}
}

func (s *Sources) winner(t *tree.Tree, k Key, namespace string, mode hncv1alpha2.SynchronizationMode, labels map[string]string) (top *Source) {
	list, _ := s.byKey.Get(k.text())
	if len(list) == 0 {
		return nil
	}
	for _, above := range t.Ancestors(namespace) {
		if i, found := find(list, above); found && list[i].Eligible(mode, labels) {
			top = list[i]
		}
	}
	return top
}

// Overwritten are the namespaces below a source in which a source of the same key
// would give way to it, in order. Restored copies do not count.
func (s *Sources) Overwritten(t *tree.Tree, source *Source) []string {
	mode := s.rules.Mode(source.Kind)
	if !s.rules.Copies(source.Kind) {
		return nil
	}
	list, _ := s.byKey.Get(source.text())
	var out []string
	for _, other := range list {
		if !other.Restored && t.IsAncestor(source.Namespace, other.Namespace) && source.Eligible(mode, t.Get(other.Namespace).Labels) {
			out = append(out, other.Namespace)
		}
	}
	return out
}

// Conflict is a source that would give way to one above it.
type Conflict struct {
	Key
	// Namespace of the source, and By that of the one above.
	Namespace, By string
}

// Conflicts are those among the sources of a kind, in order. It looks at all of
// them.
func (s *Sources) Conflicts(t *tree.Tree, kind schema.GroupKind) []Conflict {
	var out []Conflict
	for _, list := range s.byKey.All() {
		if list[0].Kind != kind || len(list) == 1 {
			continue
		}
		for _, source := range list {
			for _, namespace := range s.Overwritten(t, source) {
				out = append(out, Conflict{source.Key, namespace, source.Namespace})
			}
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(a.compare(b.Key), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.By, b.By))
	})
	return out
}
