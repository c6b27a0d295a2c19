// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Options are what the handlers go by. All functions must be safe for concurrent use.
type Options struct {
	// World is what is known; an error says why nothing can be decided yet.
	World func() (rules.World, error)
	// Settings are those in force.
	Settings func() settings.Settings
	// Users are the names under which Holdfast itself asks; they may do anything.
	Users []string
	// Kinds are what the API server serves; nil if that is not known yet.
	Kinds func() *inventory.Snapshot
	// Sources reads all sources of some kinds in the cluster, as the rules would treat
	// them. The kinds need not be known to the World.
	Sources func(context.Context, []inventory.Kind, propagate.Rules) (*propagate.Sources, error)
	// Client asks about users and namespaces.
	Client kubernetes.Interface
	// Observer tells what mode Enforce would refuse; nil for nobody.
	Observer *admission.Observer
	// Patience bounds the time of a decision. Zero is a margin less than the API server waits.
	Patience time.Duration

	// dryRuns are the deletions that this process asks for at once.
	dryRuns *semaphore.Weighted
}

// Handlers answer the webhooks.
type Handlers struct {
	hierarchy, anchor, configuration        *handler
	namespace, otherNamespace, newNamespace *handler
	object, label                           *handler
	restoredNamespace, restoredObject       *handler
}

// NewHandlers makes the Handlers.
func NewHandlers(o Options) *Handlers {
	o.dryRuns = semaphore.NewWeighted(dryRuns)
	if o.Patience == 0 {
		o.Patience = closedTimeout - margin
	}
	closed := func(name string, j judge) *handler { return &handler{o: &o, name: name, judge: j} }
	open := func(name string, j judge) *handler { return &handler{o: &o, name: name, judge: j, open: true} }
	blind := func(name string, j judge) *handler {
		return &handler{o: &o, name: name, judge: j, open: true, blind: true}
	}
	return &Handlers{
		hierarchy:      closed(hierarchyName, judgeHierarchy),
		anchor:         closed(anchorName, judgeAnchor),
		configuration:  closed(configurationName, judgeConfiguration),
		namespace:      closed(NamespaceName, judgeNamespace),
		otherNamespace: open(otherNamespaceName, judgeNamespace),
		newNamespace:   open(newNamespaceName, judgeNamespace),
		object:         &handler{o: &o, name: objectName, judge: judgeObject, open: true, creations: true},
		label:          blind(labelName, judgeLabel),

		restoredNamespace: blind(restoredNamespaceName, judgeRestoredNamespace),
		restoredObject:    blind(restoredObjectName, judgeRestoredObject),
	}
}
