// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
	"github.com/holdfast-dev/holdfast/internal/rootsync/render"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// content is what a commit says.
type content struct {
	commit, dir string
	// kinds are those that were served when it was read.
	kinds    *inventory.Snapshot
	rendered bool
	// wrong is nil unless it could not be rendered.
	wrong  *knv.Error
	parsed parse.Result
}

// read reads the newest commit, if that was not done yet, and says how far it has come;
// false if it cannot be said what it declares.
func (r *runner) read(ctx context.Context, settings spec.Settings, p *report.Progress) bool {
	tree, _, wrong := r.subscription.Latest()
	p.Fetched = report.Result{Source: settings.Source}
	if wrong != nil {
		p.Fetched.Errors = []*knv.Error{wrong}
	}
	if tree == nil {
		p.Fetched.Running = wrong == nil
		return p.Fetched.Running
	}
	p.Fetched.Commit = tree.Commit
	if !r.load(ctx, tree.Commit, settings.Source.Dir) {
		p.Fetched.Running = true // what it waits for comes with a wake
		return true
	}
	r.content.tell(settings.Source, p)
	return p.At == report.AtSync
}

// load reads a commit, if that was not done yet; false if that cannot be done now.
func (r *runner) load(ctx context.Context, commit, dir string) bool {
	kinds := r.s.o.Kinds.Current()
	if kinds == nil {
		return false
	}
	if c := r.content; c != nil && c.commit == commit && c.dir == dir && c.kinds == kinds && !retried(c.wrong) {
		return true
	}
	tree := r.subscription.Hold()
	if tree == nil {
		return false
	}
	defer tree.Release()
	r.content = r.render(ctx, render.Tree{Commit: tree.Commit, Dir: tree.Dir}, dir, kinds)
	return true
}

// tell says how far a commit has come.
func (c *content) tell(from spec.Source, p *report.Progress) {
	switch {
	case c.wrong != nil && c.wrong.Code == knv.Source:
		p.At, p.Fetched.Errors = report.AtSource, append(p.Fetched.Errors, c.wrong)
		return
	case c.wrong != nil:
		p.At, p.Plain = report.AtRendering, !c.rendered
		p.Rendered = report.Result{Source: from, Commit: c.commit, Errors: []*knv.Error{c.wrong}}
		return
	}
	p.At, p.Plain = report.AtSync, !c.rendered
	p.Rendered = report.Result{Source: from, Commit: c.commit}
	p.Fetched.Errors = append(p.Fetched.Errors, c.parsed.Errors...)
	if c.parsed.Blocked {
		p.At = report.AtSource
	}
}

// retried says whether what went wrong may go well the next time.
func retried(err *knv.Error) bool { return err != nil && err.Code == knv.InternalRendering }

func (r *runner) render(ctx context.Context, tree render.Tree, dir string, kinds *inventory.Snapshot) *content {
	c := &content{commit: tree.Commit, dir: dir, kinds: kinds}
	files, rendered, wrong := r.s.renderer.Render(ctx, tree, dir)
	c.rendered, c.wrong = rendered, wrong
	if wrong != nil {
		return c
	}
	c.parsed = parse.Parse(files, served{kinds})
	all := c.parsed.Declared()
	refusals := parse.CRDsInUse(r.defines(ctx, kinds), all)
	if wrong := parse.Declares(all, r.sync); wrong != nil {
		refusals = append(refusals, wrong)
	}
	if len(refusals) > 0 {
		c.parsed = parse.Result{Blocked: true, Errors: knv.Sorted(append(c.parsed.Errors, refusals...))}
	}
	return c
}

// defines are the kinds whose CRDs are declared now; after a start those whose CRDs were.
func (r *runner) defines(ctx context.Context, kinds *inventory.Snapshot) []schema.GroupKind {
	if r.declared != nil {
		return parse.Defines(r.declared.objects)
	}
	store := group.New(r.s.o.Dynamic, r.sync)
	if err := store.Load(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "What a RootSync had before the start is not known")
		return nil // none of the CRDs goes while objects of its kind are declared
	}
	var out []schema.GroupKind
	for _, id := range store.IDs() {
		if kind, served := definedBy(id, kinds); served {
			out = append(out, kind.GroupKind())
		}
	}
	return out
}

// definedBy is the kind that a CRD defines, if it is one and the kind is served.
func definedBy(id object.ID, kinds *inventory.Snapshot) (inventory.Kind, bool) {
	if !plan.IsCRD(id) {
		return inventory.Kind{}, false
	}
	return kinds.ByResource(schema.ParseGroupResource(id.Name))
}

// served is what the API server serves, for what is read.
type served struct{ kinds *inventory.Snapshot }

// Namespaced implements parse.Scopes.
func (s served) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	k, ok := s.kinds.ByKind(gk)
	return k.Namespaced, ok
}

// kinds are those of what is declared.
func (r *runner) kinds() []schema.GroupKind {
	if r.declared == nil {
		return nil
	}
	out := make([]schema.GroupKind, 0, len(r.declared.objects))
	for _, d := range r.declared.objects {
		out = append(out, d.ID().GroupKind())
	}
	return out
}

// idsOf are the names of objects.
func idsOf(list []object.Declared) []object.ID {
	out := make([]object.ID, len(list))
	for i, d := range list {
		out[i] = d.ID()
	}
	return out
}
