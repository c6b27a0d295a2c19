// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// soon is the pause before another look while it is not known yet what to follow.
const soon = 100 * time.Millisecond

// follower has accounts, and the objects that want them, followed while the feature
// is on. It runs on the leader, which writes.
type follower struct {
	config    func() configv1alpha1.ServiceAccountsConfiguration
	kinds     func() *inventory.Snapshot
	templates *templates
	// templatesKnown says whether all are.
	templatesKnown func() bool
	known          *known
	dynamic        dynamic.Interface
	metadata       metadata.Interface
	pauses         timing.Pauses
	// started says that somebody hears of accounts.
	started <-chan struct{}
	wake    chan struct{}
}

// NeedLeaderElection is true: nobody else needs to know.
func (f *follower) NeedLeaderElection() bool { return true }

// Wake asks for another look at what to follow. It never blocks.
func (f *follower) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Start follows whenever the configuration wants it, until the context ends.
func (f *follower) Start(ctx context.Context) error {
	select {
	case <-f.started:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if f.config().Mode != configv1alpha1.ServiceAccountsOff {
			f.follow(ctx)
		}
		f.pause(ctx, f.pauses.TemplatesAgain)
	}
	return nil
}

// pause waits until there may be something else to follow.
func (f *follower) pause(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-f.wake:
	case <-time.After(most):
	}
}

// follow follows until the configuration does not want it any more.
func (f *follower) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	objects := inventory.NewObjectsAndMetadata(f.dynamic, f.metadata, f.known, keep, f.pauses)
	defer func() {
		cancel()
		objects.Wait()
		f.known.forget()
	}()
	for ctx.Err() == nil {
		c := f.config()
		if c.Mode == configv1alpha1.ServiceAccountsOff {
			return
		}
		// Which accounts are wanted is not known before all templates are, and which of
		// their kinds there are.
		again := f.pauses.TemplatesAgain
		if kinds := f.kinds(); kinds == nil || !f.templatesKnown() {
			again = soon
		} else {
			f.align(ctx, objects, kinds, c)
		}
		f.pause(ctx, again)
	}
}

// align follows the kinds of all templates.
func (f *follower) align(ctx context.Context, objects *inventory.Objects, kinds *inventory.Snapshot, c configv1alpha1.ServiceAccountsConfiguration) {
	all, err := f.templates.all(exclusionPattern(c))
	if err != nil { // the loader has checked the pattern
		ctrl.Log.WithName("serviceaccount").Error(err, "The built-in templates cannot be made")
		return
	}
	wanted := map[string]*mapping.Mapping{}
	incomplete := false
	for name, t := range all {
		if t.mapping == nil {
			incomplete = true
			continue
		}
		wanted[name] = t.mapping
		if _, served := kinds.ByKind(t.mapping.Source); !served && kinds.Silent(t.mapping.Source.Group) {
			incomplete = true // it may be served all the same
		}
	}
	stopped := f.known.set(wanted, incomplete, func(m *mapping.Mapping) inventory.ObjectSource {
		source, _ := sourceOf(m, kinds)
		return source
	}, objects.All)
	for _, s := range stopped {
		objects.Stop(s)
	}
	for _, s := range append(f.known.sources(), always...) {
		objects.Start(ctx, s)
	}
	f.known.check()
}

// sourceOf is where the objects of a template are; empty, with a reason, if nowhere.
func sourceOf(m *mapping.Mapping, kinds *inventory.Snapshot) (source inventory.ObjectSource, reason string) {
	kind, served := kinds.ByKind(m.Source)
	switch {
	case !served:
		return source, v1alpha1.ReasonKindMissing
	case !kind.Namespaced:
		return source, v1alpha1.ReasonKindClusterScoped
	}
	source.Resource = kind.Resource
	if m.Version != "" {
		source.Resource.Version = m.Version
	}
	return source, ""
}

func exclusionPattern(c configv1alpha1.ServiceAccountsConfiguration) string {
	if p := c.Strimzi.LabelsExclusionPattern; p != nil {
		return *p
	}
	return configv1alpha1.DefaultLabelsExclusionPattern
}
