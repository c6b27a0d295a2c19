// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// Verdict is what is done about an account, and why.
type Verdict struct {
	Action Action
	Report Report
}

// Do says which write an action is.
type Do string

const (
	// Nothing is written.
	Nothing Do = "Nothing"
	// Create posts Object, so that an account that came meanwhile is not changed.
	Create Do = "Create"
	// TakeOver sends Patch, which gives fields to FieldManager and changes no value.
	TakeOver Do = "TakeOver"
	// Apply applies Object as FieldManager, by force if Force says so.
	Apply Do = "Apply"
	// Replace sends Patch.
	Replace Do = "Replace"
	// Release applies Object, which has nothing of ours, as FieldManager: what only
	// Holdfast has set goes, and the account stays.
	Release Do = "Release"
	// LetGo sends Patch, by which Holdfast owns nothing of the account any more. No value
	// changes.
	LetGo Do = "LetGo"
	// Delete deletes the account in the foreground, with Preconditions.
	Delete Do = "Delete"
)

// Action is a write, good for the account as it was seen. All but Create fail when
// the account is another by then; TakeOver, LetGo, Replace, Delete and what is forced fail
// when it has changed at all.
type Action struct {
	Do Do
	// Object is complete, and never has secrets or imagePullSecrets.
	Object *unstructured.Unstructured
	Force  bool
	// Patch is a JSON merge patch.
	Patch []byte
	// From are the keys that a TakeOver takes from others, by their field managers.
	From map[string]sets.Set[Key]
	// Preconditions of a deletion.
	Preconditions *metav1.Preconditions
}

// Report says what is to change, and what stands in the way. It is about all that is
// to be done, of which Action may be the first step.
type Report struct {
	// Claimant is whose account it is; nil if nobody's.
	Claimant *Claimant
	// Rivals want the same account and do not get it.
	Rivals []Claimant
	// Adopted says that the account is written and was there before, so that it is
	// never deleted.
	Adopted bool
	// Changes are about every key that the account has or is to have, in order: labels,
	// annotations, other fields, each by key.
	Changes []Change
	// Problem says why the account is not written; empty if it is, or need not be.
	Problem Problem
	// Message says the problem, or why nothing is done, for people.
	Message string
}

// Claimant is an object that wants an account, and by which template.
type Claimant struct {
	Mapping, Account string
	Source           mapping.Source
}

// Problem is why an account is not written.
type Problem string

const (
	// ProblemError is a mistake in the object.
	ProblemError Problem = "Error"
	// ProblemOwned says that the account is another object's.
	ProblemOwned Problem = "OwnedByAnother"
	// ProblemCopy says that the account is a copy, which the hierarchy keeps.
	ProblemCopy Problem = "Copy"
	// ProblemConflict says that somebody has set a key to another value which is not to
	// be yielded, nor forced.
	ProblemConflict Problem = "Conflict"
	// ProblemUnreadable says that the account does not tell whose its fields are.
	ProblemUnreadable Problem = "Unreadable"
)

// Problems are all of them.
var Problems = []Problem{ProblemError, ProblemOwned, ProblemCopy, ProblemConflict, ProblemUnreadable}

// Kind says what becomes of a key.
type Kind string

const (
	// Added is not on the account yet.
	Added Kind = "added"
	// Changed has another value there.
	Changed Kind = "changed"
	// Removed goes from it.
	Removed Kind = "removed"
	// Kept stays as it is.
	Kept Kind = "kept"
	// Yielded is wanted with another value, and stays as it is.
	Yielded Kind = "yielded"
	// Withheld is wanted, and not set, because it would change what the pods of an account may do that the object does not
	// own.
	Withheld Kind = "withheld"
	// Conflicting is the same as Yielded, and for it the whole account stays as it is.
	Conflicting Kind = "conflict"
)

// Change is what becomes of a key.
type Change struct {
	Key
	Kind Kind
	// From is the value on the account, To the one that is wanted. What is kept has the
	// same, and what is not wanted has an empty To.
	From, To string
	// Owners have set the key on the account, Holdfast perhaps among them, the last
	// first.
	Owners []Owner
	// Identity is which cloud identity hangs on the key; nil if none.
	Identity *Identity
}

// Owner is who has set a field, and when last.
type Owner struct {
	Manager   string
	Operation metav1.ManagedFieldsOperationType
	Time      time.Time
}

// Pending says whether anything is to be written.
func (v Verdict) Pending() bool { return v.Action.Do != Nothing }

// Conflicts says whether others have their say about the account: it is theirs, or
// keys of it are.
func (r Report) Conflicts() bool {
	if len(r.Rivals) > 0 || r.Problem == ProblemOwned || r.Problem == ProblemCopy || r.Problem == ProblemConflict {
		return true
	}
	for _, c := range r.Changes {
		if c.Kind == Yielded || c.Kind == Withheld {
			return true
		}
	}
	return false
}

// Identities are the changes of keys that a cloud identity hangs on, those that are
// kept among them. Pods that run see the others after a restart.
func (r Report) Identities() []Change {
	var out []Change
	for _, c := range r.Changes {
		if c.Identity != nil {
			out = append(out, c)
		}
	}
	return out
}

func preconditions(o metav1.Object) *metav1.Preconditions {
	uid, version := o.GetUID(), o.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}
