// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timing has the pauses that Holdfast makes, in one place: how long it waits until
// something has settled, and how often it looks again at what nobody tells of. They are handed
// down from the options of a process, so that a test of one that runs need not sit most of them out.
//
// Pauses of a second and less stay where they are used, and so do the bounds of requests and of
// retries, and times that the API promises.
package timing

import (
	"reflect"
	"time"
)

// Pauses of a process.
type Pauses struct {
	// StatusRefresh bounds how long the status of Holdfast can lack something that no event tells,
	// such as a certificate that expires. A look reads the cache only.
	StatusRefresh time.Duration
	// CountsFirst is how long counts about an object are collected before they are written to its
	// status. What a process has counted and not written is lost when it is killed.
	CountsFirst time.Duration
	// CountsLongest is what that pause grows to while counting goes on: sums may be late when they
	// change all the time.
	CountsLongest time.Duration
	// WatchSteady is how long a watch of a source that failed stays open before it counts as one
	// that works, if nothing comes by it: API servers need not send bookmarks.
	WatchSteady time.Duration
	// CRDsAgain is the pause before the next try to apply CustomResourceDefinitions that could not
	// be applied. Few things mend themselves sooner.
	CRDsAgain time.Duration
	// ConfigSyncLook is how often the sync looks whether Config Sync runs beside it: that long both
	// may write.
	ConfigSyncLook time.Duration

	// ProbeLongest bounds the pauses between tries of an extension API server, whether it asks the
	// policies, that find out nothing.
	ProbeLongest time.Duration
	// StrayMarks is how long an object keeps the marks that it was restored or copied with. A patch right after
	// the creation would be a conflict for the client that is still writing the object.
	StrayMarks time.Duration
	// UnwatchedKind is how long the watch of a kind may fail before the protections that need it say
	// so. The API server may just be busy.
	UnwatchedKind time.Duration

	// DrainingNode is how long a node that is being drained counts as that without another look: a
	// drain has many evictions within seconds.
	DrainingNode time.Duration
	// EvictionChecks is how often the surroundings of the eviction guard are looked at. What is found
	// there is for people, and seldom changes.
	EvictionChecks time.Duration
	// ForbiddenWatch is how often a watch of the eviction guard that is forbidden is tried again.
	// Each try is one more refusal in the audit log.
	ForbiddenWatch time.Duration
	// ForbiddenPods is how long a namespace in which pods may not be read or patched is left alone:
	// every eviction there would be one more refusal in the audit log.
	ForbiddenPods time.Duration
	// EvictionScope is how often it is looked whether the namespace of an Eviction is in scope by now.
	EvictionScope time.Duration
	// EvictionLook is how often the pod of an Eviction is looked at: what a policy waits for is often
	// on the pod, and so is that it is gone.
	EvictionLook time.Duration
	// EvictionHeartbeat is how often a responder that has nothing new to say says so. The API passes
	// an Eviction on after 20 minutes without.
	EvictionHeartbeat time.Duration
	// EvictionNews is what the API asks responders to leave between two heartbeats that say something
	// new.
	EvictionNews time.Duration

	// RivalsAlone is how often Holdfast looks for HNC while it is alone: that long both may write.
	RivalsAlone time.Duration
	// RivalsOther is the same while Holdfast waits for HNC to go, and people wait for Holdfast.
	RivalsOther time.Duration
	// TreeCounts is how often the status of the HNCConfiguration is written because of its counts
	// alone: they change with objects that have nothing to do with trees.
	TreeCounts time.Duration
	// TreeStatus is how often at most the status of the HNCConfiguration is looked at.
	TreeStatus time.Duration
	// RightsAgain is how often trees review the rights that Holdfast lacks for a kind that is to be copied: no watch shows that they
	// were granted.
	RightsAgain time.Duration
	// HeldRemovals is how often a copy whose removal is held is looked at again: it may be explained
	// by then.
	HeldRemovals time.Duration

	// AccountsDiscovered is how long after the start a service account that is not wanted is left
	// alone: the API server may not tell of all kinds at first.
	AccountsDiscovered time.Duration
	// TemplatesAgain is how often what a template wants to follow and could not is tried again, if
	// nothing happens that has it tried before.
	TemplatesAgain time.Duration

	// SyncAgain is the pause of a RootSync after what failed here, when nobody tells that it is over.
	SyncAgain time.Duration
	// RefusedAgain is the pause before what the API server has refused to a RootSync is tried again,
	// if nothing changes sooner.
	RefusedAgain time.Duration
	// OccupiedAgain is the same of a Namespace in which something runs: nobody tells when it has
	// ended.
	OccupiedAgain time.Duration
	// UnwatchedLook is how often an object is looked at whose kind cannot be watched.
	UnwatchedLook time.Duration
	// InventoryCalm is how often at most the inventory of a RootSync follows what happens once all is
	// settled.
	InventoryCalm time.Duration

	Patience
}

// Patience is how long a process waits for others, who may be slow, before it goes on without them or
// says so. It is not divided: on a busy machine a test would lose it.
type Patience struct {
	// CertificateSettle is how long the API servers get to take up a bundle that was published,
	// before a certificate is served that needs it. Their watches take milliseconds.
	CertificateSettle time.Duration
	// ProbeSettle is how long an extension API server must let the probe of the deletion guard pass
	// before it counts as one that asks no policy. It reads the policies on its own, and later than
	// the API server does.
	ProbeSettle time.Duration
	// OperatorGrace is how long a Strimzi operator that has gone still counts for what it writes to
	// service accounts: a node is drained, and its pod comes back on another.
	OperatorGrace time.Duration
	// AccountsCollected is how long the garbage collector may take for the service accounts of an
	// object that has gone.
	AccountsCollected time.Duration
	// StakesPatience is how long the first RootSyncs wait for the others to say what they want of
	// namespaces, so that a start has one result, whoever is first.
	StakesPatience time.Duration
	// Unsaid is how long a sync may go over what it has synced already before its status says so.
	Unsaid time.Duration
	// UnsaidAtStart is the same after a start, when all of them do at once.
	UnsaidAtStart time.Duration
	// DeleteTold is how long after a delete the watch may take to tell of it, before a RootSync looks
	// itself.
	DeleteTold time.Duration
	// UnwatchedObject is how long an object of a RootSync waits for the watch of its kind, before it
	// is looked at by itself.
	UnwatchedObject time.Duration
}

// Production are the pauses that every process has but those of tests.
func Production() Pauses {
	return Pauses{
		StatusRefresh:  10 * time.Second,
		CountsFirst:    5 * time.Second,
		CountsLongest:  15 * time.Second,
		WatchSteady:    10 * time.Second,
		CRDsAgain:      10 * time.Second,
		ConfigSyncLook: 15 * time.Second,

		ProbeLongest:  time.Minute,
		StrayMarks:    5 * time.Second,
		UnwatchedKind: 30 * time.Second,

		DrainingNode:      10 * time.Second,
		EvictionChecks:    5 * time.Minute,
		ForbiddenWatch:    5 * time.Minute,
		ForbiddenPods:     time.Minute,
		EvictionScope:     time.Minute,
		EvictionLook:      10 * time.Second,
		EvictionHeartbeat: 3 * time.Minute,
		EvictionNews:      20 * time.Second,

		RivalsAlone:  time.Minute,
		RivalsOther:  10 * time.Second,
		TreeCounts:   time.Minute,
		TreeStatus:   2 * time.Second,
		RightsAgain:  30 * time.Second,
		HeldRemovals: time.Minute,

		AccountsDiscovered: 30 * time.Second,
		TemplatesAgain:     time.Minute,

		SyncAgain:     5 * time.Second,
		RefusedAgain:  10 * time.Minute,
		OccupiedAgain: time.Minute,
		UnwatchedLook: 10 * time.Minute,
		InventoryCalm: 2 * time.Second,

		Patience: Patience{
			CertificateSettle: 10 * time.Second,
			ProbeSettle:       10 * time.Second,
			OperatorGrace:     30 * time.Second,
			AccountsCollected: 30 * time.Second,
			StakesPatience:    30 * time.Second,
			Unsaid:            time.Minute,
			UnsaidAtStart:     5 * time.Minute,
			DeleteTold:        5 * time.Second,
			UnwatchedObject:   10 * time.Second,
		},
	}
}

// DividedBy returns them divided by n, which is at least 1, with the same Patience.
func (p Pauses) DividedBy(n int) Pauses {
	for _, field := range reflect.ValueOf(&p).Elem().Fields() {
		if field.Kind() == reflect.Int64 {
			field.SetInt(field.Int() / int64(n))
		}
	}
	return p
}
