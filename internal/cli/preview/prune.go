// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/occupants"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// Blocker is what keeps an object from being pruned.
type Blocker string

// What can keep it.
const (
	// BlockedByUse is of a namespace, or a kind, that somebody uses.
	BlockedByUse Blocker = "InUse"
	// BlockedByOwnUse is of a namespace in which the RootSync itself has something, and which
	// it would make if it were not there.
	BlockedByOwnUse Blocker = "OwnUse"
	// BlockedByNeed is of what another object of the RootSync needs.
	BlockedByNeed Blocker = "Needed"
	// BlockedByScope is of what is in a namespace that the configuration leaves alone.
	BlockedByScope Blocker = "OutOfScope"
	// BlockedByOccupants is of a namespace in which somebody runs something.
	BlockedByOccupants Blocker = "Occupied"
	// BlockedByRefusal is of what the API server refuses to delete.
	BlockedByRefusal Blocker = "Refused"
	// BlockedByEnd is of what is being deleted already, and has not gone.
	BlockedByEnd Blocker = "Terminating"
)

// Pruning is what would become of an object of a RootSync if its source had it no longer.
type Pruning struct {
	Action  decide.Action
	Why     string
	Blocker Blocker
	// Refused is the answer to a dry run of the delete.
	Refused error
	// Unknown is why it could not be tried.
	Unknown error
}

// Prune says what would become of one object. What is declared is all but that.
func Prune(ctx context.Context, in *Input, api *API, id object.ID) (*Pruning, error) {
	rights := in.ask(ctx, api)
	spaces, notes := in.read(ctx, api)
	l := &look{Input: in, api: api, spaces: in.judge(spaces), now: map[object.ID]object.Declared{}}
	kind, served := in.Kinds[id.GroupKind()]
	if !served {
		return nil, fmt.Errorf("nobody serves %s", id.GroupKind())
	}
	at := api.at(kind, "", id)
	have, err := at.get(ctx)
	if err != nil {
		return nil, err
	}
	nodes := []plan.Node{{ID: id, Defines: in.Kinds.definedBy(id)}}
	for _, d := range in.Declared {
		l.declare(d)
		nodes = append(nodes, plan.NodeOf(d))
	}
	graph, _ := plan.Build(nodes) // what is wrong is told of each object
	if have != nil && id.IsNamespace() && slices.Contains(l.spaces.made, id.Name) {
		return &Pruning{
			Action: decide.Keep, Blocker: BlockedByOwnUse,
			Why: "the RootSync has objects in it, and makes the namespaces that those need: it keeps this one, without what the source has said of it",
		}, nil
	}
	p := l.pruning(id, have != nil, func(f *decide.Facts) {
		if have != nil {
			f.Seen = live.Of(id, have)
		}
	}, l.needed(graph, id, nil))
	if p.Action == decide.Delete {
		p.try(ctx, l, at, going{id: id, at: at, have: have})
	}
	if notes = append(notes, rights.notes()...); p.Blocker == "" && len(notes) > 0 && id.IsNamespace() {
		p.Unknown = errors.New(notes[0])
	}
	return p, nil
}

// pruning decides as the engine does.
func (l *look) pruning(id object.ID, there bool, seen func(*decide.Facts), needed string) *Pruning {
	f := l.facts(id, false, there, nil)
	if there {
		seen(&f)
	}
	g := decide.Going{Inventoried: true, Needed: needed}
	g.InUse, g.KeptBy = l.spaces.inUse(id)
	v := decide.Undeclared(f, g)
	p := &Pruning{Action: v.Action, Why: v.Why}
	switch {
	case v.Action == decide.Wait:
		p.Blocker = BlockedByEnd
	case v.Action == decide.Keep && f.OutOfScope:
		p.Blocker = BlockedByScope
	case v.Action == decide.Keep && g.InUse != "":
		p.Blocker = BlockedByUse
	case v.Action == decide.Keep:
		p.Blocker = BlockedByNeed
	}
	return p
}

// try asks the API server, and looks at what the engine looks at before.
func (p *Pruning) try(ctx context.Context, l *look, at place, g going) {
	if g.id.IsNamespace() {
		switch names, err := occupants.Of(ctx, l.api.Metadata, g.id.Name); {
		case err != nil:
			p.Unknown = fmt.Errorf("the sync looks whether somebody runs something in it, and you cannot: %w", err)
			return
		case len(names) > 0:
			p.Action, p.Blocker, p.Why = decide.Keep, BlockedByOccupants, plan.Occupied(g.id, names)
			return
		}
	}
	err := at.remove(ctx, g.have)
	if err == nil {
		return
	}
	if why := at.why(ctx, "delete", err); errors.Is(why, errNoRight) {
		p.Unknown = why
		return
	}
	if apierrors.IsConflict(err) {
		p.Unknown = fmt.Errorf("it has changed meanwhile: %w", err)
		return
	}
	p.Action, p.Blocker, p.Refused, p.Why = decide.Keep, BlockedByRefusal, err, err.Error()
}
