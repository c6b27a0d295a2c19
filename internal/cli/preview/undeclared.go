// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/occupants"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// going is an object that is in the inventory and not declared any more.
type going struct {
	id   object.ID
	at   place
	have *unstructured.Unstructured
	// unread is why nobody knows what is there.
	unread error
}

// prune says what would become of what is declared no longer. What others need goes after
// them, and stays if they do.
func (l *look) prune(ctx context.Context, nodes []plan.Node) []Change {
	found := l.leaving(ctx)
	var ids []object.ID
	for id, g := range found {
		n := plan.Node{ID: id}
		if g.have != nil {
			n.DependsOn, _ = plan.References(live.Of(id, g.have).DependsOn)
		}
		nodes = append(nodes, n)
		ids = append(ids, id)
	}
	graph, _ := plan.Build(nodes)
	ids = plan.Order(ids)
	slices.Reverse(ids)
	stays := map[object.ID]bool{}
	var out []Change
	for _, id := range ids {
		c := l.undeclared(ctx, found[id], l.needed(graph, id, stays))
		stays[id] = c.Action == Keep || c.Action == Fail
		if c.Action != "" {
			out = append(out, c)
		}
	}
	return out
}

// leaving reads the objects that are in the inventory and not declared.
func (l *look) leaving(ctx context.Context) map[object.ID]going {
	held := l.held()
	out := map[object.ID]going{}
	var mu sync.Mutex
	var ids []object.ID
	for _, id := range l.Inventory {
		_, declared := l.now[id]
		if _, served := l.Kinds[id.GroupKind()]; served && !declared && !l.refuses(id) && !slices.Contains(held, id.GroupKind()) {
			ids = append(ids, id)
		}
	}
	l.each(ctx, ids, func(ctx context.Context, id object.ID) Change {
		g := going{id: id, at: l.api.at(l.Kinds[id.GroupKind()], "", id)}
		var err error
		if g.have, err = g.at.get(ctx); err != nil {
			g.unread = g.at.why(ctx, "get", err)
		}
		mu.Lock()
		defer mu.Unlock()
		out[id] = g
		return none
	})
	return out
}

// needed says why an object cannot go before others.
func (l *look) needed(graph *plan.Graph, id object.ID, stays map[object.ID]bool) string {
	for _, by := range graph.NeededBy(id) {
		_, declared := l.now[by]
		switch {
		case graph.Together(id, by):
		case declared && !id.IsNamespace(): // of which inUse says so
			return plan.StillDeclared.Because(by)
		case stays[by]:
			return plan.DeleteSkipped.Because(by)
		}
	}
	return ""
}

// undeclared says what would happen to an object that is declared no longer.
func (l *look) undeclared(ctx context.Context, g going, needed string) Change {
	c := Change{ID: g.id, APIVersion: g.at.kind.Resource.GroupVersion().String(), Before: g.have}
	as := func(a Action, why string) Change {
		c.Action, c.Reason = a, why
		return c
	}
	if g.unread != nil {
		return as(Unknown, g.unread.Error())
	}
	f := l.facts(g.id, false, g.have != nil, nil)
	if g.have != nil {
		f.Seen = live.Of(g.id, g.have)
	}
	going := decide.Going{Inventoried: true, Needed: needed}
	going.InUse, going.KeptBy = l.spaces.inUse(g.id)
	v := decide.Undeclared(f, going)
	switch v.Action {
	case decide.Delete:
		return l.remove(ctx, g, v.Why, as)
	case decide.Abandon:
		return l.release(ctx, g, v.Why, as)
	case decide.Keep:
		return as(Keep, v.Why)
	case decide.Wait:
		return as(Wait, v.Why)
	}
	return none
}

// remove asks whether the object may go: what refuses that is in the way of the sync too.
func (l *look) remove(ctx context.Context, g going, why string, as func(Action, string) Change) Change {
	if g.id.IsNamespace() {
		switch names, err := occupants.Of(ctx, l.api.Metadata, g.id.Name); {
		case err != nil:
			return as(Unknown, fmt.Sprintf("the sync looks whether somebody runs something in it, and you cannot: %v", err))
		case len(names) > 0:
			return as(Keep, plan.Occupied(g.id, names))
		}
	}
	err := g.at.remove(ctx, g.have)
	if err != nil {
		err = g.at.why(ctx, "delete", err)
	}
	switch {
	case err == nil:
		return as(Delete, why)
	case errors.Is(err, errNoRight):
		return as(Unknown, err.Error())
	}
	return as(Keep, err.Error())
}

func (l *look) release(ctx context.Context, g going, why string, as func(Action, string) Change) Change {
	body, err := decide.Strip(g.have)
	if err != nil || body == nil {
		return none
	}
	would, err := g.at.merge(ctx, body)
	if err != nil {
		err = g.at.why(ctx, "patch", err)
		if errors.Is(err, errNoRight) {
			return as(Unknown, err.Error())
		}
		return as(Fail, err.Error())
	}
	c := as(Release, why)
	c.After = would
	return c
}
