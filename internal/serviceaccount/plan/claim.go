// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// sorted are the wants in the order in which they have the account: whose object owns
// it, then the oldest object's, then by name. There are no two equals.
func sorted(f Facts) []mapping.Want {
	return slices.SortedFunc(slices.Values(f.Wants), func(a, b mapping.Want) int {
		return cmp.Or(first(f.owns(a), f.owns(b)), a.Source.Created.Compare(b.Source.Created), compareNames(a, b))
	})
}

// claims settles whose an account is, of wants that are sorted.
func claims(f Facts) (winner *mapping.Want, rivals []Claimant) {
	var claimants []mapping.Want
	for _, w := range f.Wants {
		// Of what has a mistake it is not known whether it is wanted.
		if !w.Source.Deleting && (w.Enabled || w.Err != nil) {
			claimants = append(claimants, w)
		}
	}
	if len(claimants) == 0 {
		return nil, nil
	}
	for _, w := range claimants[1:] {
		rivals = append(rivals, *claimant(w))
	}
	return &claimants[0], rivals
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func compareNames(a, b mapping.Want) int {
	return cmp.Or(
		strings.Compare(a.Source.Name, b.Source.Name),
		strings.Compare(a.Source.Kind, b.Source.Kind), strings.Compare(a.Source.Group, b.Source.Group),
		strings.Compare(string(a.Source.UID), string(b.Source.UID)),
		strings.Compare(a.Mapping, b.Mapping), strings.Compare(a.Account, b.Account),
	)
}

func claimant(w mapping.Want) *Claimant {
	return &Claimant{Mapping: w.Mapping, Account: w.Account, Source: w.Source}
}

// owns says whether an object owns the account.
func (f Facts) owns(w mapping.Want) bool { return f.Live != nil && owned(f.Live, w.Source.UID) }

func owned(o metav1.Object, by types.UID) bool {
	return by != "" && slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == by })
}
