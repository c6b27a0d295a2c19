// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// claimTimeout is how long it is waited for claims to be written, before the rest is
// applied without the namespaces that they are about.
const claimTimeout = 10 * time.Second

// declared is what the engine was last told.
type declared struct {
	// objects are those of the content and the namespaces that are made along the way.
	objects []object.Declared
	content *content
	// settings and owned are what else it follows from.
	settings spec.Settings
	owned    []string
	withheld []string
	// errors are about namespaces that nobody can act on.
	errors []*knv.Error
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// declare tells everybody what the RootSync wants, and the engine what to apply.
func (r *runner) declare(ctx context.Context, rs *configsyncv1beta1.RootSync, settings spec.Settings) {
	c := r.content
	if !c.good() {
		return // what was declared before stays in force
	}
	created := rs.CreationTimestamp.Time
	r.s.declares(r.sync, created, sets.New(idsOf(c.parsed.Objects)...).Insert(idsOf(c.parsed.Refused)...))
	r.s.stakesChanged(r.s.registry.Set(r.sync, namespaces.WantsOf(slices.Concat(c.parsed.Objects, r.stays(ctx, c.parsed.Refused)), created, !settings.ExplicitNamespaces)))
	if !r.s.registry.Complete() {
		return // that it is comes with a wake
	}
	d := r.judge(ctx, c, settings)
	if d == nil || r.declared.same(d) {
		return
	}
	r.declared = d
	r.runs().Set(apply.Declaration{
		Objects: d.objects, Version: object.Version{Commit: c.commit, Context: settings.Source.Context()}, Exact: settings.ExactStamps,
		ReconcileTimeout: settings.ReconcileTimeout, CallTimeout: settings.APIServerTimeout, WithStatus: settings.Statuses,
		Held: d.held(), Kept: idsOf(c.parsed.Refused), Guard: r.guard(settings),
	})
}

// stays is what is refused and may be there all the same, as it was applied before: what
// the RootSync wants of namespaces for it does not change.
func (r *runner) stays(ctx context.Context, refused []object.Declared) []object.Declared {
	return slices.DeleteFunc(slices.Clone(refused), func(d object.Declared) bool {
		id := d.ID()
		if id.IsNamespace() {
			live, err := r.s.spaces.live(ctx, id.Name)
			return err == nil && (live == nil || object.Managed(live, id) != r.sync.Manager())
		}
		live, err := r.s.spaces.live(ctx, id.Namespace)
		return err == nil && live == nil
	})
}

// good says whether a commit can be applied.
func (c *content) good() bool { return c != nil && c.wrong == nil && !c.parsed.Blocked }

// judge adds the namespaces that are made along the way, and takes out those that nobody
// can act on now. It is nil while claims are being written.
func (r *runner) judge(ctx context.Context, c *content, settings spec.Settings) *declared {
	d := &declared{content: c, settings: settings}
	var waits bool
	for _, name := range r.s.registry.Of(r.sync) {
		waits = r.place(ctx, d, name) || waits
	}
	switch {
	case !waits:
		r.waiting = time.Time{}
	case !r.waitedEnough():
		return nil
	}
	for _, o := range c.parsed.Objects {
		if id := o.ID(); !id.IsNamespace() || !slices.Contains(d.withheld, id.Name) {
			d.objects = append(d.objects, o)
		}
	}
	return d
}

// place adds a namespace, or takes it out; waits says that claims come first.
func (r *runner) place(ctx context.Context, d *declared, name string) (waits bool) {
	ruling, err := r.s.spaces.ruling(ctx, name)
	switch {
	case err != nil:
		d.withhold(name, err)
	case ruling.Awaits(r.sync):
		d.withhold(name, cmp.Or(r.s.rights.Unanswered(), errors.New("it is not known yet which RootSync may write it")))
		return true
	case ruling.Unmade(r.sync):
		d.lacks(name, r.sync)
	case ruling.Of(r.sync) == namespaces.Own && r.s.registry.Stakes(name)[r.sync].How == namespaces.Makes:
		d.owned = append(d.owned, name)
		d.objects = append(d.objects, object.ImplicitNamespace(name))
	case ruling.Owner == r.sync && ruling.Write != nil && ruling.There:
		d.withhold(name, fmt.Errorf("who claims namespace %s is not written yet", name))
		return true
	}
	return false
}

func (d *declared) withhold(name string, why error) {
	d.withheld = append(d.withheld, name)
	d.errors = append(d.errors, knv.New(knv.Applier, "%s", plan.SkippedApply(object.NamespaceID(name), why.Error())).Because(why))
}

// lacks adds the error about a namespace that nobody makes, since those who need it may not.
func (d *declared) lacks(name string, who object.Sync) {
	d.errors = append(d.errors, knv.New(knv.InsufficientRights,
		"failed to apply %s: %s may not create it, so that this RootSync waits until somebody else does: create or declare the namespace, "+
			"or give that account a role that may, by spec.override.roleRefs", object.NamespaceID(name), who.User()))
}

// waitedEnough says whether claims should have been written by now.
func (r *runner) waitedEnough() bool {
	now := r.s.o.Clock.Now()
	if r.waiting.IsZero() {
		r.waiting = now
	}
	return now.Sub(r.waiting) > claimTimeout
}

// held are the kinds of which objects are not known to be declared.
func (d *declared) held() []schema.GroupKind {
	held := sets.New[schema.GroupKind]()
	for _, o := range d.content.parsed.Withheld {
		held.Insert(o.ID().GroupKind())
	}
	if len(d.withheld) > 0 {
		held.Insert(namespaceKind)
	}
	return held.UnsortedList()
}

// same says whether the engine was told the same already.
func (d *declared) same(o *declared) bool {
	return d != nil && d.content == o.content && sameSettings(d.settings, o.settings) && slices.Equal(d.owned, o.owned) && slices.Equal(d.withheld, o.withheld) &&
		slices.EqualFunc(d.errors, o.errors, func(a, b *knv.Error) bool { return a.Text == b.Text })
}

// sameSettings compares what the engine goes by.
func sameSettings(a, b spec.Settings) bool {
	return a.ExplicitNamespaces == b.ExplicitNamespaces && a.Statuses == b.Statuses && a.ExactStamps == b.ExactStamps &&
		a.ReconcileTimeout == b.ReconcileTimeout && a.APIServerTimeout == b.APIServerTimeout && a.Source == b.Source
}

// guard keeps a source from being emptied. The explicit strategy lets go of namespaces
// that were made along the way, as the implicit one did: nobody has taken those out of
// the source. It goes by what stands on them, so that it does not matter what this
// process has seen.
func (r *runner) guard(settings spec.Settings) func([]object.ID, []object.Declared) *knv.Error {
	if !settings.ExplicitNamespaces {
		return nil
	}
	return func(former []object.ID, now []object.Declared) *knv.Error {
		return plan.KeepNamespaces(slices.DeleteFunc(slices.Clone(former), func(id object.ID) bool {
			if !id.IsNamespace() {
				return false
			}
			live, err := r.s.spaces.live(r.s.base, id.Name)
			return err == nil && live != nil && namespaces.Along(live)
		}), now)
	}
}
