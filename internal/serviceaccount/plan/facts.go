// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// FieldManager owns what Holdfast writes on service accounts.
const FieldManager = "holdfast-serviceaccounts"

// OrphanManager owns what FieldManager wrote for an object that was deleted with the propagation policy Orphan. Holdfast
// writes nothing by that name, so the fields stay as they are, and an object that wants the account takes them over.
const OrphanManager = FieldManager + "-orphan"

// Facts are what is known of an account.
type Facts struct {
	types.NamespacedName
	// Wants are what all objects, by all templates, want of this account, in any order.
	Wants []mapping.Want
	// Live is the account with its managedFields; nil if it is not there.
	Live *metav1.PartialObjectMetadata
	// Patching says whether accounts that are there are written: the feature gate.
	Patching bool
	// Existing says how they are.
	Existing configv1alpha1.ExistingAccounts
	// Identities says which accounts that are there get keys that change what their pods may do.
	Identities configv1alpha1.AccountIdentities
	// Operators are the field managers of operators that run beside Holdfast and write
	// the same accounts. Holdfast yields to them.
	Operators sets.Set[string]
	// Abandoned says that nobody has wanted the account for longer than the garbage
	// collector takes for what belongs to an object that has gone.
	Abandoned bool
	// Unsure says that not all who may want the account could be asked since the start.
	Unsure bool
	// Ending says that its namespace is being deleted, where nothing can be made.
	Ending bool
	// Orphaned says that whoever deleted its object wanted the account to stay.
	Orphaned bool
	// GivenUp are keys that somebody else always sets to something else. They are left
	// alone.
	GivenUp sets.Set[Key]
}

// Key is that of a label or an annotation.
type Key struct {
	Field Field
	Name  string
}

// Field says what of an account a key, or a change, is about.
type Field string

const (
	// Label is a label.
	Label Field = "label"
	// Annotation is an annotation.
	Annotation Field = "annotation"
	// Other is a field of the account that is neither, by its path.
	Other Field = "field"
)

// parents are the names of the maps in metadata.
var parents = map[Field]string{Label: "labels", Annotation: "annotations"}
