// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// parallelism is how many requests are under way at most.
const parallelism = 16

// look is one look at what the next sync would do.
type look struct {
	*Input
	api    *API
	spaces *spaces
	graph  *plan.Graph
	// now is what is declared, with the namespaces that are made along the way.
	now map[object.ID]object.Declared
}

// Run says what the next sync would do. An error is one that stops the commit as a whole,
// or the end of the context.
func Run(ctx context.Context, in *Input, api *API) (*Result, error) {
	result := &Result{}
	rights := in.ask(ctx, api)
	live, notes := in.read(ctx, api)
	l := &look{Input: in, api: api, spaces: in.judge(live), now: map[object.ID]object.Declared{}}
	if err := l.guard(); err != nil {
		return nil, err
	}
	var nodes []plan.Node
	for _, d := range in.Declared {
		l.declare(d)
	}
	for _, name := range l.spaces.made {
		l.declare(object.ImplicitNamespace(name))
	}
	var ids []object.ID
	for id, d := range l.now {
		ids = append(ids, id)
		if !d.Disabled() {
			nodes = append(nodes, plan.NodeOf(d))
		}
	}
	l.graph, _ = plan.Build(nodes) // what is wrong is told of each object
	result.Changes = l.spaces.claims()
	result.Changes = append(result.Changes, l.each(ctx, plan.Order(ids), l.declared)...)
	result.Changes = append(result.Changes, l.prune(ctx, nodes)...)
	result.Notes = slices.Concat(notes, rights.notes())
	return result, ctx.Err()
}

func (l *look) declare(d object.Declared) { l.now[d.ID()] = d }

// read reads the namespaces. One that may not be read is a note.
func (in *Input) read(ctx context.Context, api *API) (live map[string]space, notes []string) {
	live = map[string]space{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	for _, name := range in.concerned() {
		group.Go(func() error {
			found, err := api.space(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			live[name] = found
			if err != nil {
				notes = append(notes, fmt.Sprintf("namespace %s is assumed to be there and to be nobody else's: %v", name, err))
			}
			return nil
		})
	}
	_ = group.Wait()
	slices.Sort(notes)
	return live, notes
}

// guard says why the commit would not come into force.
func (l *look) guard() error {
	former := slices.DeleteFunc(slices.Clone(l.Inventory), func(id object.ID) bool {
		owner := l.spaces.owner(id, false)
		return owner != "" && owner != l.Sync || l.refuses(id) || l.Explicit && l.spaces.along(id)
	})
	if err := plan.KeepNamespaces(former, l.Declared); err != nil {
		return err
	}
	return nil
}

// each asks about objects side by side, and keeps their order.
func (l *look) each(ctx context.Context, ids []object.ID, ask func(context.Context, object.ID) Change) []Change {
	all := make([]Change, len(ids))
	group := errgroup.Group{}
	group.SetLimit(parallelism)
	for i, id := range ids {
		group.Go(func() error {
			all[i] = ask(ctx, id)
			return nil
		})
	}
	_ = group.Wait()
	return slices.DeleteFunc(all, func(c Change) bool { return c.Action == "" })
}

// facts are what is known of an object beside how it is; labels are those with which it is
// declared.
func (l *look) facts(id object.ID, declared, exists bool, labels map[string]string) decide.Facts {
	return decide.Facts{
		ID: id, Sync: l.Sync, Known: true, Looked: true, Standing: l.spaces.standing(id, declared, exists), OutOfScope: !l.spaces.inScope(id, labels),
	}
}

// held are the kinds of which nothing is pruned, since not all that is declared is known.
func (l *look) held() []schema.GroupKind {
	var out []schema.GroupKind
	for _, d := range l.Withheld {
		out = append(out, d.ID().GroupKind())
	}
	if len(l.spaces.withheld) > 0 {
		out = append(out, object.NamespaceID("").GroupKind())
	}
	return out
}

// definedBy is the kind that a CustomResourceDefinition defines, as far as it is served.
func (k Kinds) definedBy(id object.ID) schema.GroupKind {
	if !plan.IsCRD(id) {
		return schema.GroupKind{}
	}
	return k.of(schema.ParseGroupResource(id.Name))
}
