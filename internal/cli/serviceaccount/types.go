// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// Plan is what would become of service accounts.
type Plan struct {
	metav1.TypeMeta `json:",inline"`
	Settings        Settings `json:"settings"`
	// Items are the accounts that objects want, and those that have something of
	// Holdfast's, by namespace and name.
	Items   []Item  `json:"items"`
	Summary Summary `json:"summary"`
	// Notes are what was taken for granted.
	Notes []string `json:"notes,omitempty"`
	// NotLookedAt are parts about which nothing is known.
	NotLookedAt []Gap `json:"notLookedAt,omitempty"`
}

// Settings are what the plan goes by.
type Settings struct {
	// From is the ConfigMap, or "defaults".
	From string `json:"from"`
	// Mode is the one that is configured now.
	Mode                   configv1alpha1.ServiceAccountsMode `json:"mode"`
	Existing               configv1alpha1.ExistingAccounts    `json:"existing"`
	Identities             configv1alpha1.AccountIdentities   `json:"identities"`
	LabelsExclusionPattern string                             `json:"labelsExclusionPattern"`
	// StrimziOperator says whether Strimzi's operator runs, to which Holdfast yields.
	StrimziOperator bool `json:"strimziOperator"`
}

// Action is what would be done to an account.
type Action string

// The actions. Write is one or two writes that change what is the template's alone.
const (
	None    Action = "None"
	Create  Action = "Create"
	Write   Action = "Write"
	Replace Action = "Replace"
	Release Action = "Release"
	Delete  Action = "Delete"
)

// Item is what would become of one account.
type Item struct {
	Namespace string `json:"namespace"`
	// Name is empty if it cannot be told from the object.
	Name   string `json:"name,omitempty"`
	Action Action `json:"action"`
	Exists bool   `json:"exists"`
	// Adopted says that it was there before, so that Holdfast never deletes it.
	Adopted bool `json:"adopted,omitempty"`
	// Template and Account say by which ServiceAccountTemplate, and which item of it.
	Template string  `json:"template,omitempty"`
	Account  string  `json:"account,omitempty"`
	Object   *Object `json:"object,omitempty"`
	// Rivals want the same account and do not get it.
	Rivals  []Rival      `json:"rivals,omitempty"`
	Problem plan.Problem `json:"problem,omitempty"`
	Message string       `json:"message,omitempty"`
	Keys    []Key        `json:"keys,omitempty"`
	// Restart are the pods that run and would not see what changes of an identity.
	Restart []string `json:"restart,omitempty"`
}

// Object is one that wants an account, in the account's namespace.
type Object struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
}

// Rival is an object that does not get an account.
type Rival struct {
	Template string `json:"template"`
	Account  string `json:"account"`
	Object   Object `json:"object"`
}

// Key is what would become of a label or an annotation, or of a field that is neither.
type Key struct {
	Field    plan.Field `json:"field"`
	Key      string     `json:"key"`
	Change   plan.Kind  `json:"change"`
	From     string     `json:"from,omitempty"`
	To       string     `json:"to,omitempty"`
	Owners   []Owner    `json:"owners,omitempty"`
	Identity *Identity  `json:"identity,omitempty"`
}

// Owner has set a key.
type Owner struct {
	Manager   string     `json:"manager"`
	Operation string     `json:"operation"`
	Time      *time.Time `json:"time,omitempty"`
}

// Identity is the cloud identity that hangs on a key.
type Identity struct {
	Provider string `json:"provider"`
	Meaning  string `json:"meaning"`
}

// Summary counts.
type Summary struct {
	Accounts int `json:"accounts"`
	// Changing would be written, of which OwnedOnly would keep all their values.
	Changing  int `json:"changing"`
	OwnedOnly int `json:"ownedOnly"`
	// Created, Deleted and Released are accounts; Added, Changed and Removed keys.
	Created  int `json:"created"`
	Deleted  int `json:"deleted"`
	Released int `json:"released"`
	Added    int `json:"added"`
	Changed  int `json:"changed"`
	Removed  int `json:"removed"`
	Yielded  int `json:"yielded"`
	Withheld int `json:"withheld"`
	// Conflicts are accounts about which others have their say.
	Conflicts int `json:"conflicts"`
	// Errors are accounts that cannot be told or read.
	Errors int `json:"errors"`
}

// Gap is a part that could not be looked at.
type Gap struct {
	Part   string `json:"part"`
	Reason string `json:"reason"`
}
