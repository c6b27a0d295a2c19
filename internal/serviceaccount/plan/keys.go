// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// sight is an account as it was seen, and what is wanted of it.
type sight struct {
	Facts
	want   mapping.Want
	fields fields
	// ours are the keys that Holdfast owns, and taken those that it takes over.
	ours, taken map[Key]bool
}

func see(f Facts, w mapping.Want) (*sight, error) {
	read, err := readFields(f.Live)
	if err != nil {
		return nil, err
	}
	s := &sight{Facts: f, want: w, fields: read, ours: read.ours(), taken: map[Key]bool{}}
	for i := range s.fields {
		if s.former(&s.fields[i]) {
			maps.Copy(s.taken, s.takenOf(&s.fields[i]))
		}
	}
	return s, nil
}

// live is the value of a key on the account.
func (s *sight) live(k Key) (string, bool) { return valueOf(s.Live.Labels, s.Live.Annotations, k) }

// wanted is the value that a key is to have.
func (s *sight) wanted(k Key) (string, bool) { return valueOf(s.want.Labels, s.want.Annotations, k) }

func valueOf(labels, annotations map[string]string, k Key) (string, bool) {
	from := labels
	if k.Field == Annotation {
		from = annotations
	}
	value, there := from[k.Name]
	return value, there
}

// judged is what becomes of a key.
type judged struct {
	Change
	// include says whether the key is in what is applied, and force whether it is only
	// by force.
	include, force bool
}

// judge says what becomes of every key that the account has or is to have.
func (s *sight) judge() []judged {
	keys := sets.New(keysOf(s.Live.Labels, s.Live.Annotations)...)
	keys.Insert(keysOf(s.want.Labels, s.want.Annotations)...)
	out := make([]judged, 0, len(keys))
	for k := range keys {
		j := s.judgeKey(k)
		j.Owners, j.Identity = s.fields.owners(k.path()), IdentityOf(k)
		out = append(out, j)
	}
	slices.SortFunc(out, func(a, b judged) int { return a.compare(b.Key) })
	return out
}

func (s *sight) judgeKey(k Key) judged {
	from, there := s.live(k)
	to, wanted := s.wanted(k)
	out := judged{Change: Change{Key: k, From: from, To: to, Kind: Kept}}
	switch owners := s.others(k); {
	case !wanted:
		if s.goes(k, owners) {
			out.Kind = Removed
		}
	case s.withheld(k) || s.GivenUp.Has(k):
		out.Kind = s.left(k, there && from == to)
	case !there:
		out.Kind, out.include = Added, true
	case s.operated(owners):
		if from != to {
			out.Kind = Yielded
		}
	case from == to:
		out.include = true
	default:
		s.contest(&out, owners)
	}
	if out.Kind == Kept && !wanted {
		out.To = from
	}
	return out
}

// withheld reports whether a key stays as it is on an account that somebody made and the object does not own: whoever may
// write the object could otherwise give those who may run pods as that account the rights of any identity, and themselves
// those of the account. What Holdfast has set already goes on as before.
func (s *sight) withheld(k Key) bool {
	return s.Identities != configv1alpha1.IdentitiesAll && empowers(k) && !s.owns(s.want) && !s.ours[k]
}

// left is the change of a key that Holdfast leaves as it is.
func (s *sight) left(k Key, asWanted bool) Kind {
	switch {
	case asWanted:
		return Kept
	case s.withheld(k):
		return Withheld
	}
	return Yielded
}

// others have set a key, and neither are Holdfast nor have left the account to it.
func (s *sight) others(k Key) []string {
	var out []string
	for i := range s.fields {
		if e := &s.fields[i]; !e.ours() && !s.former(e) && e.fields.Has(k.path()) {
			out = append(out, e.Manager)
		}
	}
	return out
}

// former says whether an entry is of somebody who wrote the account before Holdfast,
// and does so no more, or of Holdfast for an object that is gone.
func (s *sight) former(e *entry) bool {
	if e.Manager == OrphanManager {
		return e.Subresource == "" && s.want.Enabled
	}
	return e.Subresource == "" && slices.Contains(s.want.TakeOver, e.Manager) && !s.Operators.Has(e.Manager) && len(s.Live.ManagedFields) > 0
}

func (s *sight) operated(managers []string) bool {
	return slices.ContainsFunc(managers, s.Operators.Has)
}

// contest settles a key that has another value than is wanted.
func (s *sight) contest(j *judged, others []string) {
	policy := v1alpha1.ConflictForce
	if len(others) > 0 {
		policy = s.want.Conflicts.For(j.Name)
	}
	switch policy {
	case v1alpha1.ConflictForce:
		j.Kind, j.include, j.force = Changed, true, len(others) > 0
	case v1alpha1.ConflictFail:
		j.Kind = Conflicting
	default:
		j.Kind = Yielded
	}
}

// goes says whether a key that is not wanted goes from the account when Holdfast
// applies without it.
func (s *sight) goes(k Key, others []string) bool {
	return len(others) == 0 && (s.ours[k] || s.taken[k])
}

// takenOf are the keys that Holdfast takes over from whoever wrote the account before.
// What they applied is all of their template, so that what is in it no more goes; what
// they set otherwise may be more than that, and only what is wanted is taken.
func (s *sight) takenOf(e *entry) map[Key]bool {
	out := e.keys()
	for k := range out {
		_, there := s.live(k)
		_, wanted := s.wanted(k)
		if !there || s.withheld(k) || wanted && !s.judgeKey(k).include || !wanted && !e.applied() {
			delete(out, k)
		}
	}
	return out
}
