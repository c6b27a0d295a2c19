// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/fields"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// outputVersion is the apiVersion of structured output. Fields may be added to it.
const outputVersion = "cli.holdfast.dev/v1alpha1"

// Ownership is whose an object is.
type Ownership struct {
	metav1.TypeMeta `json:",inline"`
	Object          sync.ObjectRef `json:"object"`
	Owner           Answer         `json:"owner"`
	// Source is how it came into the cluster, if annotations say anything of that.
	Source *sync.Provenance `json:"source,omitempty"`
	// Namespace is whose the namespace is that the object is in, or that it is.
	Namespace *Claims `json:"namespace,omitempty"`
	// Tree is where a namespace stands in its tree.
	Tree *Tree `json:"tree,omitempty"`
	// CopyOf is what a copy was propagated from.
	CopyOf *Original `json:"copyOf,omitempty"`
	// Owners are what it belongs to by owner references, up to the top.
	Owners []Link `json:"owners,omitempty"`
	// KeptBy is the template by which a service account has what Holdfast sets on it.
	KeptBy *serviceaccount.Keeper `json:"keptBy,omitempty"`
	// Waiting says for whom a pod waits that was evicted.
	Waiting string `json:"waiting,omitempty"`
	// Tools are those whose marks it has.
	Tools         []string         `json:"tools,omitempty"`
	Protection    *Protection      `json:"protection,omitempty"`
	FieldManagers []fields.Manager `json:"fieldManagers,omitempty"`
	// NotLookedAt are parts about which nothing is known.
	NotLookedAt []Gap `json:"notLookedAt,omitempty"`
}

// Claims are those on a namespace.
type Claims struct {
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"`
	// Why is in words what decides.
	Why string `json:"why"`
	// Claims that count, the owner's first.
	Claims []Claim `json:"claims,omitempty"`
}

// Claim is one of them.
type Claim struct {
	How      string       `json:"how"`
	Claimant string       `json:"claimant"`
	Since    *metav1.Time `json:"since,omitempty"`
}

// Original is the source of a copy.
type Original struct {
	sync.ObjectRef `json:",inline"`
	State          State `json:"state"`
}

// Of says whose an object is.
func Of(f *Facts) *Ownership {
	o := &Ownership{
		TypeMeta:      metav1.TypeMeta{APIVersion: outputVersion, Kind: "Ownership"},
		Object:        sync.ObjectRef(f.ID),
		Owner:         answerOf(f),
		Namespace:     claimsOn(f),
		Tree:          treeOf(f),
		CopyOf:        originalOf(f),
		Owners:        f.Chain,
		KeptBy:        f.Keeper,
		Waiting:       f.Waiting,
		Tools:         toolsOf(f),
		Protection:    f.Protection,
		FieldManagers: fields.Managers(f.Meta.ManagedFields),
		NotLookedAt:   f.Gaps,
	}
	if f.Source.Kept != sync.Unmanaged {
		o.Source = &f.Source
	}
	return o
}

func claimsOn(f *Facts) *Claims {
	if f.Namespace == nil {
		return nil
	}
	c := &Claims{Name: f.Namespace.Name}
	verdict, err := ownership.Decide(f.Namespace)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	owner, _ := verdict.Owner()
	c.Owner, c.Why = owner.Claimant, verdict.Why()
	for _, claim := range verdict.Claims {
		out := Claim{How: string(claim.How), Claimant: claim.Claimant}
		if !claim.Since.IsZero() {
			out.Since = new(metav1.NewTime(claim.Since))
		}
		c.Claims = append(c.Claims, out)
	}
	return c
}

func toolsOf(f *Facts) []string {
	var out []string
	for _, c := range ownership.Tools(f.ID.GroupKind(), f.Meta) {
		out = append(out, nameOf(c.Claimant))
	}
	return out
}
