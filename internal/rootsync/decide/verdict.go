// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import "github.com/holdfast-dev/holdfast/internal/rootsync/knv"

// Action is what to do about an object.
type Action string

// The actions.
const (
	// Nothing is to be done: it is as it should be.
	Nothing Action = "Nothing"
	// Wait for something that the watch, or another object, will tell.
	Wait Action = "Wait"
	// Ask the API server who may write the object: nothing happens to it until the answer comes.
	Ask Action = "Ask"
	// Look at the object itself: the watch cannot tell.
	Look Action = "Look"
	// Apply it, whether it is there or not.
	Apply Action = "Apply"
	// DryRunFirst finds out whether applying it would change anything.
	DryRunFirst Action = "DryRunFirst"
	// ApplyMetadata writes what says whose it is, and nothing else.
	ApplyMetadata Action = "ApplyMetadata"
	// Conflict is about an object that is not written, because another has it.
	Conflict Action = "Conflict"

	// Delete it, as it was seen.
	Delete Action = "Delete"
	// Abandon takes off what says whose it is, and leaves the rest.
	Abandon Action = "Abandon"
	// Keep it, and in the inventory, until what is in the way has gone.
	Keep Action = "Keep"
	// HandOver keeps it in the inventory until another RootSync, which has it now, has
	// taken it over.
	HandOver Action = "HandOver"
	// Gone says that there is nothing left of it that is the sync's.
	Gone Action = "Gone"
)

// Verdict is what to do, and why.
type Verdict struct {
	Action Action
	Why    string
	// Drift says that somebody else has changed the object.
	Drift bool
	// Code is that of the error, of which Why is the text, if there is one.
	Code knv.Code
}

func because(a Action, why string) Verdict { return Verdict{Action: a, Why: why} }
