// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Verdict says whose a namespace is.
type Verdict struct {
	// Claims that count, the strongest first: the first one's claimant is the owner.
	// There are none on a namespace that is nobody's.
	Claims []Claim
	// Found says that the namespace was there before a RootSync claimed it, so that
	// no implicit claim counts.
	Found bool

	won string
}

// Owner is the strongest claim; false on a namespace that is nobody's.
func (v Verdict) Owner() (Claim, bool) {
	if len(v.Claims) == 0 {
		return Claim{}, false
	}
	return v.Claims[0], true
}

// Owns says whether a claimant is the owner.
func (v Verdict) Owns(claimant string) bool {
	owner, ok := v.Owner()
	return ok && owner.Claimant == claimant
}

// Why says in one line, for people, who owns and why no other does.
func (v Verdict) Why() string {
	owner, ok := v.Owner()
	if !ok {
		return "nobody claims it"
	}
	text := owner.Claimant + " owns it (" + string(owner.How) + ")"
	if len(v.Claims) == 1 {
		return text
	}
	others := make([]string, 0, len(v.Claims)-1)
	for _, c := range v.Claims[1:] {
		others = append(others, fmt.Sprintf("%s (%s)", c.Claimant, c.How))
	}
	return text + ": " + v.won + "; others that claim it: " + strings.Join(others, separator)
}

// won says how the first of two claims won over the second.
func won(first, second stand) string {
	switch {
	case first.How.rank() < second.How.rank():
		return fmt.Sprintf("%s goes before %s", first.How, second.How)
	case first.late != second.late || !first.Since.Equal(second.Since):
		return "of these claims it is the oldest"
	default:
		return "of claims of one age it is the first by name"
	}
}

// Decide reads a Namespace and says whose it is. With an annotation that cannot be
// read that is an *InvalidError: then nobody knows, and nobody may act on it.
func Decide(o metav1.Object) (Verdict, error) {
	written, err := read(o)
	if err != nil {
		return Verdict{}, err
	}
	return Owner(written, Marks(o)), nil
}

// Owner decides by what is written and by what marks say.
func Owner(written Claims, marks []Claim) Verdict {
	v := Verdict{Found: isFound(written, marks)}
	all := slices.DeleteFunc(standing(written, marks), func(s stand) bool { return v.Found && s.How == Implicit })
	slices.SortFunc(all, stronger)
	for _, s := range all {
		v.Claims = append(v.Claims, s.Claim)
	}
	if len(all) > 1 {
		v.won = won(all[0], all[1])
	}
	return v
}

// InvalidError says that the annotation on a namespace cannot be read.
type InvalidError struct {
	Namespace string
	Err       error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("nobody can tell whose namespace %s is: its annotation %s cannot be read: %v; "+
		"it is left as it is: mend it or, to have it written anew, take it away, which needs the verb %q on %s.%s cluster-wide",
		e.Namespace, v1alpha1.ClaimsAnnotation, e.Err, v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
}

// Unwrap returns what is wrong with it.
func (e *InvalidError) Unwrap() error { return e.Err }

func read(o metav1.Object) (Claims, error) {
	text, _ := bound(o)
	written, err := Parse(text)
	if err != nil {
		return Claims{}, &InvalidError{Namespace: o.GetName(), Err: err}
	}
	return written, nil
}

// isFound goes by what is written or, where nothing is, by marks: those of a
// RootSync are there from the start, or it would not have taken the namespace.
func isFound(written Claims, marks []Claim) bool {
	if len(written.list) > 0 {
		return written.found
	}
	return !slices.ContainsFunc(marks, func(c Claim) bool { return c.How == Declared || c.How == Implicit })
}

// stand is a claim that stands.
type stand struct {
	Claim
	// late says that a mark came after the claims were written and has no time yet.
	late bool
}

// standing brings together what is written and what marks say: what lives with a
// mark falls away with it, and of two claims of one claimant the stronger stands.
func standing(written Claims, marks []Claim) []stand {
	var out []stand
	for _, c := range written.list {
		i := slices.IndexFunc(marks, func(m Claim) bool { return m.Claimant == c.Claimant })
		if i < 0 && c.How.marked() {
			continue
		}
		if i >= 0 && marks[i].How.rank() < c.How.rank() {
			c.How = marks[i].How
		}
		out = append(out, stand{Claim: c})
	}
	for _, m := range marks {
		if _, there := written.Of(m.Claimant); !there {
			out = append(out, stand{Claim: m, late: len(written.list) > 0})
		}
	}
	return out
}

func stronger(a, b stand) int {
	return cmp.Or(
		cmp.Compare(a.How.rank(), b.How.rank()),
		compareBools(a.late, b.late),
		a.Since.Compare(b.Since),
		cmp.Compare(a.How, b.How), // of ways that are not known
		cmp.Compare(a.Claimant, b.Claimant),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
