// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// trial is one object that is declared.
type trial struct {
	*look
	id       object.ID
	declared object.Declared
	at       place
	// have is the object as it is; nil if it is not there.
	have *unstructured.Unstructured
	seen *live.Seen
}

// none is about an object that stays as it is.
var none = Change{}

// declared says what would happen to an object that is declared.
func (l *look) declared(ctx context.Context, id object.ID) Change {
	t := &trial{look: l, id: id, declared: l.now[id]}
	if err := l.spaces.withheld[id.Name]; id.IsNamespace() && err != nil {
		return t.change(Fail, plan.SkippedApply(id, err.Error()))
	}
	want := decide.WantOf(t.declared, l.Sync, l.Version, l.Exact)
	if err := l.graph.Bad(id); err != nil && !want.Disabled {
		return t.change(Fail, err.Text)
	}
	kind, served := l.Kinds[id.GroupKind()]
	if !served {
		return t.create("its kind is made first, so nothing of it could be dry-run")
	}
	if why, made := l.spaces.missing(id.Namespace); made {
		return t.create(why + ", so nothing of it could be dry-run")
	} else if why != "" && !want.Disabled {
		return t.change(Wait, why)
	}
	t.at = l.api.at(kind, t.declared.Object.GroupVersionKind().Version, id)
	var err error
	if t.have, err = t.at.get(ctx); err != nil {
		return t.change(Unknown, t.at.why(ctx, "get", err).Error())
	}
	return t.decide(ctx, want)
}

// decide does what the engine would, as a dry run.
func (t *trial) decide(ctx context.Context, want decide.Want) Change {
	f := t.facts(t.id, !want.Disabled, t.have != nil, t.declared.Object.GetLabels())
	if t.have != nil {
		t.seen = live.Of(t.id, t.have)
		f.Seen = t.seen
	}
	v := decide.Declared(f, want)
	switch v.Action {
	case decide.Apply, decide.DryRunFirst:
		return t.apply(ctx, v)
	case decide.ApplyMetadata:
		body, err := decide.Mark(t.have, object.Stamp(t.declared, t.Sync, t.version()))
		return t.merge(ctx, Update, v.Why, body, err)
	case decide.Abandon:
		body, err := decide.Strip(t.have)
		return t.merge(ctx, Release, v.Why, body, err)
	case decide.Conflict:
		return t.change(Conflict, v.Why)
	case decide.Wait:
		return t.change(Wait, v.Why)
	case decide.Keep:
		return t.change(Fail, v.Why)
	}
	return none
}

// version is what the object is applied for. That another commit alone is no change shows
// by applying it for the one for which it was applied last.
func (t *trial) version() object.Version {
	if t.seen != nil && t.seen.Manager == t.Sync.Manager() && !t.Exact {
		return t.seen.Version
	}
	return t.Version
}

func (t *trial) apply(ctx context.Context, v decide.Verdict) Change {
	would, err := t.at.apply(ctx, object.Stamp(t.declared, t.Sync, t.version()))
	if err != nil {
		verb := "patch"
		if t.have == nil {
			verb = "create"
		}
		return t.failure(t.at.why(ctx, verb, err))
	}
	c := t.change(Create, "it is not there")
	c.After = would
	if t.have == nil {
		return c
	}
	if live.Same(t.have, would) {
		return none
	}
	c.Action, c.Before, c.Reason = Update, t.have, v.Why
	if v.Action == decide.DryRunFirst {
		c.Reason = "it is not as it is declared"
	}
	return c
}

// merge patches an object with a body, if there is one.
func (t *trial) merge(ctx context.Context, a Action, why string, body []byte, err error) Change {
	if err != nil {
		return t.change(Fail, fmt.Sprintf("encode: %v", err))
	}
	if body == nil {
		return none
	}
	would, err := t.at.merge(ctx, body)
	if err != nil {
		return t.failure(t.at.why(ctx, "patch", err))
	}
	c := t.change(a, why)
	c.Before, c.After = t.have, would
	return c
}

// create is an object that cannot be tried: it is shown as it is declared.
func (t *trial) create(why string) Change {
	if t.declared.Disabled() {
		return none
	}
	c := t.change(Create, why)
	c.After = object.Stamp(t.declared, t.Sync, t.Version)
	return c
}

func (t *trial) change(a Action, why string) Change {
	return Change{Action: a, ID: t.id, APIVersion: t.declared.Object.GetAPIVersion(), Path: t.declared.Path, Reason: why}
}

// noDryRun is in the answer where a webhook has side effects.
const noDryRun = "dry run"

// failure tells what cannot be known from what would fail.
func (t *trial) failure(err error) Change {
	if errors.Is(err, errNoRight) {
		return t.change(Unknown, err.Error())
	}
	if apierrors.IsBadRequest(err) && strings.Contains(err.Error(), noDryRun) {
		return t.change(Unknown, "it could not be tried: "+err.Error())
	}
	return t.change(Fail, err.Error())
}
