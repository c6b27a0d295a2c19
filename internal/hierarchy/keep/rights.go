// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// lacking knows the kinds for which Holdfast lacks rights. It asks for those whose copies it was forbidden to write, which a
// policy may have done as well, and for those that it cannot watch.
type lacking struct {
	mu    sync.Mutex
	kinds map[schema.GroupKind]*doubt
}

// doubt is what is known of the rights for one kind.
type doubt struct {
	// open reports whether the kind is to be asked for, asked is when it was, and advice what is said of missing rights.
	open   bool
	asked  time.Time
	advice string
}

func newLacking() *lacking { return &lacking{kinds: map[schema.GroupKind]*doubt{}} }

// doubt has the rights for a kind asked for.
func (l *lacking) doubt(kind schema.GroupKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds[kind] == nil {
		l.kinds[kind] = &doubt{}
	}
	l.kinds[kind].open = true
}

// of is what is said of the rights for a kind; empty if none is known to be missing.
func (l *lacking) of(kind schema.GroupKind) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.kinds[kind]; d != nil {
		return d.advice
	}
	return ""
}

// due returns the kinds whose review is due: each is reviewed once per pause. Waits reports whether others are due later.
func (l *lacking) due(now time.Time, pause time.Duration) (kinds []schema.GroupKind, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, d := range l.kinds {
		switch {
		case !d.open:
		case d.asked.IsZero() || now.Sub(d.asked) >= pause:
			kinds = append(kinds, kind)
		default:
			waits = true
		}
	}
	return kinds, waits
}

// answered notes what was found out about a kind. It reports whether rights were missing and are there now.
func (l *lacking) answered(kind schema.GroupKind, advice string, now time.Time) (granted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.kinds[kind]
	l.kinds[kind] = &doubt{open: advice != "", asked: now, advice: advice}
	return before != nil && before.advice != "" && advice == ""
}

// forget forgets a kind that is not copied any more.
func (l *lacking) forget(kind schema.GroupKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kinds, kind)
}

// doubt has the status of the HNCConfiguration say so if a write was forbidden for lack of a right.
func (k *Keeper) doubt(i item, err error) {
	if i.what == aCopy && apierrors.IsForbidden(err) {
		k.lacking.doubt(i.kind)
		k.later(item{what: theConfig}, k.o.Pauses.TreeStatus)
	}
}

// askRights reviews the rights that are in doubt. It reviews missing ones again after a pause, as no watch shows that they were
// granted, and requeues the copies that failed once they are.
func (k *Keeper) askRights(ctx context.Context, p *world.ConfigPlan) {
	if k.o.Rights == nil {
		return
	}
	for _, r := range p.Resources {
		if r.Problem == "" && r.Failing != "" {
			k.lacking.doubt(r.Kind.GroupKind())
		}
	}
	due, again := k.lacking.due(k.o.Clock.Now(), k.o.Pauses.RightsAgain)
	for _, kind := range due {
		again = k.askRight(ctx, p, kind) || again
	}
	if again {
		k.later(item{what: theConfig}, k.o.Pauses.RightsAgain)
	}
}

// askRight asks for the rights for one kind. It reports whether to ask again.
func (k *Keeper) askRight(ctx context.Context, p *world.ConfigPlan, kind schema.GroupKind) (again bool) {
	i := slices.IndexFunc(p.Resources, func(r world.ResourceState) bool { return r.Problem == "" && r.Kind.GroupKind() == kind })
	if i < 0 {
		k.lacking.forget(kind)
		return false
	}
	advice, err := k.o.Rights(ctx, p.Resources[i].Kind.GroupResource())
	if err != nil {
		ctrl.Log.WithName("hierarchy").Info("Cannot tell the rights for a kind; it is tried again", "kind", kind.String(), "error", err.Error())
		return true
	}
	if k.lacking.answered(kind, advice, k.o.Clock.Now()) {
		for _, at := range k.progress.failed(kind) {
			k.add(item{what: aCopy, kind: at.Kind, name: at.Name, namespace: at.Namespace})
		}
	}
	return advice != ""
}
