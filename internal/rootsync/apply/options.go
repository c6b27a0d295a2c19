// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	// DefaultReconcileTimeout is that of Config Sync.
	DefaultReconcileTimeout = 5 * time.Minute
	// DefaultCallTimeout is that of Config Sync.
	DefaultCallTimeout = 15 * time.Second
	// firstRetry and lastRetry bound the pause before what failed is tried again; each is
	// twice the one before, so that it never ends and never weighs.
	firstRetry, lastRetry = 250 * time.Millisecond, 2 * time.Minute
	// surfaced is how often in a row the API server must not answer before that is an
	// error to people.
	surfaced = 3
)

// Use is who else uses a Namespace, or the kind of a CustomResourceDefinition, for people.
type Use struct {
	// By are those for whom it stays as it is, and KeptBy those who go on with it once the RootSync lets it go.
	By, KeptBy []string
	// Open reports that By is not known yet.
	Open bool
}

// Options of an Engine. Functions are called from several goroutines and under the lock
// of the Engine: they must not block, nor call the Engine, and whoever calls the Engine
// must not hold a lock that they take.
type Options struct {
	Sync object.Sync
	// Client acts as the RootSync does, and Inventory as what may write its
	// ResourceGroup: nil for the same.
	Client, Inventory dynamic.Interface
	// Kinds is what the API server serves; nil as long as that is not known.
	Kinds func() *inventory.Snapshot
	// Live is what the shared watch knows.
	Live live.Live
	// Slots bound how many calls all Engines together have under way.
	Slots *semaphore.Weighted
	Clock clock.WithTicker
	// Pauses between looks at what nobody tells of.
	Pauses timing.Pauses
	// Standing decides the contest for an object. Without an owner another RootSync's object is left to it.
	Standing func(object.ID) object.Standing
	// Unanswered returns why the API server does not answer the question on which an open Standing, or InUse, depends; nil
	// while it has just been asked. Nil stands for never.
	Unanswered func() error
	// Forbidden is called when the API server has forbidden to apply an object. Nil if nobody wants to know.
	Forbidden func(object.ID)
	// InScope says whether the configuration lets Holdfast write an object; labels are those
	// with which it is declared, if it is. Nil stands for everywhere.
	InScope func(id object.ID, labels map[string]string) bool
	// Copies reports whether a hierarchy may have copied an object to where it would be, from the namespace from or, if that
	// is empty, from any: then it is looked for before it is created, since copies have no label by which they are seen. Nil
	// stands for nowhere.
	Copies func(id object.ID, from string) bool
	// Left is called after the RootSync has let go of a Namespace that others keep, with who they are. Nil for no one to tell.
	Left func(id object.ID, keptBy string)
	// InUse returns who else uses a Namespace, or the kind of a CustomResourceDefinition.
	InUse func(object.ID) Use
	// Occupants are what runs in a namespace and is nobody's; it is asked before the
	// Namespace goes. Nil if nobody wants to know. They are shown to people.
	Occupants func(ctx context.Context, namespace string) ([]string, error)
	// Changed tells that State has changed. It may come often.
	Changed func()
	// Did tells what was done to an object, for those who count.
	Did func(Deed)
}

// Deed is something that was done to an object.
type Deed string

// The deeds. A Fought one is Corrected as well.
const (
	Applied   Deed = "applied"
	Corrected Deed = "corrected" // somebody had changed it
	Fought    Deed = "fought"    // somebody does so again and again
	Pruned    Deed = "pruned"
	Released  Deed = "released"
)

// Declaration is what a RootSync declares.
type Declaration struct {
	Objects []object.Declared
	Version object.Version
	// Exact has the version on each object be that of the declaration; otherwise it
	// follows when the object is written for another reason.
	Exact bool
	// ReconcileTimeout is how long an object may take to become as it should be before
	// what depends on it is skipped, and CallTimeout bounds one call; zero for the
	// defaults.
	ReconcileTimeout, CallTimeout time.Duration
	// WithStatus has the inventory say what became of each object.
	WithStatus bool
	// Held are kinds of which objects are declared that could not be read: none of their
	// objects goes.
	Held []schema.GroupKind
	// Kept are objects that are declared and not to be applied: they are left as they are.
	Kept []object.ID
	// Guard refuses the declaration by what was in the inventory; nil for
	// plan.KeepNamespaces. What does not count is left out by whoever sets it.
	Guard func(former []object.ID, now []object.Declared) *knv.Error

	removal Removal
}

// Removal is what becomes of the objects when their RootSync goes.
type Removal string

// What Config Sync calls deletion propagation.
const (
	Foreground Removal = "Foreground" // they go too
	Orphan     Removal = "Orphan"     // they stay, and are nobody's
)

func (d *Declaration) defaults() {
	if d.ReconcileTimeout <= 0 {
		d.ReconcileTimeout = DefaultReconcileTimeout
	}
	if d.CallTimeout <= 0 {
		d.CallTimeout = DefaultCallTimeout
	}
}

// Stage is how far an Engine has come with a Declaration.
type Stage string

// The stages, in their order. Changes that come later do not lead back.
const (
	Idle     Stage = "Idle"     // nothing was declared yet
	Applying Stage = "Applying" // not all is there and ready yet
	Pruning  Stage = "Pruning"  // what is declared no longer has not gone yet
	Settled  Stage = "Settled"  // all was tried
)

// State is what an Engine has to say.
type State struct {
	// Version is that of the Declaration that is in force; another one may wait.
	Version object.Version
	Stage   Stage
	// Settled says that all of the last Declaration was tried and waited for, or that it
	// was refused: what is wrong then is in Errors.
	Settled bool
	// Removed says that nothing is left after Remove.
	Removed  bool
	Progress Progress
	// Errors are in order.
	Errors []*knv.Error
	// Missing are the namespaces that are not there, and the objects that wait for each.
	Missing map[string][]object.ID
	// Inventory are the objects that the sync has, in order. It is nil until it was read.
	Inventory []object.ID
}

// Progress counts objects.
type Progress struct {
	Declared, Ready, Waiting, Failed, Skipped, Going int
}
