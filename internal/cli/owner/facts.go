// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Facts are what is known of an object.
type Facts struct {
	ID     object.ID
	Meta   *metav1.PartialObjectMetadata
	Source sync.Provenance
	// Namespace is that of the object or, if it is one, itself; nil if it is in none, or
	// nobody could look.
	Namespace *metav1.PartialObjectMetadata
	// Original is what became of the source of a copy.
	Original State
	// Chain are the owners that owner references name, the nearest first.
	Chain []Link
	// Top is the last of them; nil if it could not be read.
	Top *Facts
	// Keeper is for whom Holdfast keeps a service account, by which template; nil if for
	// nobody.
	Keeper *serviceaccount.Keeper
	// Waiting says for whom a pod waits that was evicted; empty if it does not.
	Waiting string
	// Protection is nil if nobody has looked.
	Protection *Protection
	Gaps       []Gap
}

// State is whether something is there.
type State string

// What was looked for may be there, or gone, or nobody could look.
const (
	Present State = "Present"
	Gone    State = "Gone"
	Unknown State = "Unknown"
)

// Link is an owner that an owner reference names.
type Link struct {
	sync.ObjectRef `json:",inline"`
	// Controller says that it makes the object what it is, and not only takes it along.
	Controller bool  `json:"controller,omitempty"`
	State      State `json:"state"`
}

// Gap is a part that could not be looked at.
type Gap struct {
	Part   string `json:"part"`
	Reason string `json:"reason"`
}

// Protection says whether an object is protected from deletion.
type Protection struct {
	// Protected says whether somebody without a right of Holdfast's is kept from deleting it.
	Protected   bool       `json:"protected"`
	Labels      []Label    `json:"labels,omitempty"`
	Protections []Rule     `json:"protections,omitempty"`
	Overrides   []Override `json:"overrides,omitempty"`
}

// Label is a label or a mark that protects, or would.
type Label struct {
	Label  string `json:"label"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// Rule is a ResourceDeletionProtection that selects the object.
type Rule struct {
	Name   string `json:"name"`
	Mode   string `json:"mode"`
	Reason string `json:"reason,omitempty"`
}

// Override is a DeletionOverride for the object.
type Override struct {
	Name  string `json:"name"`
	Phase string `json:"phase,omitempty"`
	// Text says what counts of it.
	Text string `json:"text"`
}
